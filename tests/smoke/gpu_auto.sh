# The GPUs of this machine, as a recorded nvidia-smi and folders that stand for /sys describe them.
. ./lib.sh

unset CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES
mkdir "$work/bin" "$work/root"
PATH="$work/bin:$PATH"
VRAMFIT_ROOT="$work/root" # no GPU of the computer that runs the tests
export PATH VRAMFIT_ROOT

# smi CODE TEXT: what nvidia-smi will print, and its exit code.
smi() {
    printf '#!/bin/sh\ncat <<END\n%s\nEND\nexit %s\n' "$2" "$1" >"$work/bin/nvidia-smi"
    chmod +x "$work/bin/nvidia-smi"
}

case $(uname -s) in
Linux) ;;
*) exit 0 ;; # elsewhere other things are asked
esac

smi 0 '0, GPU-8932f937, NVIDIA GeForce RTX 4090, 24564, 22630, [N/A]
1, GPU-11111111, NVIDIA GeForce RTX 4090, 24564, 4096, [N/A]'

run env CUDA_VISIBLE_DEVICES=0 "$VRAMFIT" -m llama3.1-8b --quant q4_k_m -c 32768 -g auto
exits_with 0
complains_not
prints "rtx4090, llama.cpp"
prints "22.1 of 24.0 GiB can be used"
prints "this machine has NVIDIA GeForce RTX 4090, 22.1 of 24.0 GiB free"

run env CUDA_VISIBLE_DEVICES=GPU-1111 "$VRAMFIT" -m llama3.1-8b --quant q4_k_m -c 32768 -g auto -q
exits_with 1

run "$VRAMFIT" -m llama3.1-8b --quant q4_k_m -c 8192 -g auto -g 24GB --json
prints '"available": 23729274880'
prints '"name": "24GB"'

run env CUDA_VISIBLE_DEVICES=-1 "$VRAMFIT" -m llama3.1-8b --quant q4_k_m -g auto
exits_with 2
prints_nothing
in_one_line
complains 'CUDA_VISIBLE_DEVICES="-1" hides every NVIDIA GPU'

run "$VRAMFIT" gpus auto
exits_with 0
prints "rtx4090  22630 MiB  24564 MiB  NVIDIA GeForce RTX 4090"

smi 9 "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
run "$VRAMFIT" -m llama3.1-8b --quant q4_k_m -g auto
exits_with 2
in_one_line
complains "nvidia-smi says \"NVIDIA-SMI has failed because"

smi 6 "No devices were found"
run "$VRAMFIT" gpus auto --json
exits_with 2
prints_nothing
in_one_line
complains "no GPU was found on this machine"

# An AMD card, with 1.5 GiB in use.
card="$work/root/sys/class/drm/card0/device"
mkdir -p "$card"
echo 0x1002 >"$card/vendor"
echo "AMD Radeon RX 7900 XTX" >"$card/product_name"
echo 25753026560 >"$card/mem_info_vram_total"
echo 1610612736 >"$card/mem_info_vram_used"
run "$VRAMFIT" gpus auto
exits_with 0
prints "rx7900xtx  23024 MiB  24560 MiB  AMD Radeon RX 7900 XTX"
