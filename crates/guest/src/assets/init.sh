#!/bin/busybox sh
# Process 1 of the guest. The kernel hands down as variables what it does not know itself: mode (o off, n no policy,
# p permissive, e enforcing), ramdisk (KiB) and perturb (a word of no meaning). Prints what goes wrong; whoever reads the console misses the end then.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev
moved=${#perturb}
unset perturb
# Every refusal is to be logged: this kernel's first seconds are a few thousand million instructions.
echo 0 >/proc/sys/kernel/printk_ratelimit
[ $mode = o ] || $b mount -t selinuxfs selinuxfs /sys/fs/selinux
# The kernel takes a policy in one write alone.
case $mode in p | e) $b dd if=/policy of=/sys/fs/selinux/load bs=8M count=1 2>/dev/null || echo "E policy load refused" ;; esac
# A disk in memory: it answers at once, so that nothing depends on when a device would.
$b insmod /brd.ko rd_nr=1 rd_size=$ramdisk
$b dd if=/disk.img of=/dev/ram0 bs=1M 2>/dev/null
$b rm /disk.img
$b mount -t ext4 -o noatime /dev/ram0 /mnt || echo "E disk mount failed"
$b mount -o bind /proc /mnt/proc
$b mount -o rbind /sys /mnt/sys
$b mount -o bind /dev /mnt/dev
$b mount -t tmpfs tmpfs /mnt/tmp
$b mount -t tmpfs tmpfs /mnt/run
$b ifconfig lo 127.0.0.1 up
$b mkfifo /mnt/run/go
# Into the domains while nothing is refused yet: the policy lets no kernel thread enter a user's. Without -n busybox
# writes the end of the line by itself, which takes the context back.
enter() {
  case $mode in p | e) echo -n "$1" >/proc/self/attr/exec ;; esac
  exec $b chroot /mnt /bin/sh $2 $mode $moved
}
(enter system_u:system_r:initrc_t:s0 /scripts/serve.sh) &
(enter unconfined_u:unconfined_r:unconfined_t:s0 /scripts/count.sh)
$b reboot -f
