#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# image: a Linux kernel with rdma_rxe, and an initial RAM disk that starts it.
#
# usage: tests/kernel/image.sh DIRECTORY
#
# Makes DIRECTORY/vmlinuz and DIRECTORY/initramfs unless they are there. The
# kernel is that of the package $KERNEL_DEB, or one that is installed here, or
# what apt-get downloads for linux-image-amd64 (70 MB, kept in DIRECTORY). Nothing
# is installed. When it cannot be done, the last line says why; the exit is 1.
set -u

dir=${1:?usage: image.sh DIRECTORY}
here=$(cd "$(dirname "$0")" && pwd)

# In the order in which the guest loads them, each after what it needs. The hash
# comes before rxe, which asks for it when nothing can be loaded on demand.
modules="virtio_pci virtio_net 9pnet_virtio 9p overlay crc32_generic ib_umad
	rdma_rxe ib_uverbs rdma_ucm"
# These are loaded where the kernel's SMC-R is wanted, behind rxe_smc.
smc_modules="smc smc_diag veth"

fail() {
	echo "$*"
	exit 1
}

[ "$(uname -m)" = x86_64 ] || fail "the virtual machine is made for x86_64 only"
for tool in qemu-system-x86_64 busybox cpio modprobe depmod dpkg-deb python3; do
	PATH=$PATH:/sbin:/usr/sbin command -v "$tool" >/dev/null ||
		fail "$tool is missing"
done
PATH=$PATH:/sbin:/usr/sbin
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1

exec 9>"$dir/lock"
flock 9
if [ -e "$dir/initramfs" ] && [ -e "$dir/vmlinuz" ] &&
	[ -z "$(find "$here" -name '*.sh' -newer "$dir/initramfs" \
		-o -name '*.py' -newer "$dir/initramfs" \
		-o -name '*.c' -newer "$dir/initramfs")" ]; then
	exit 0
fi

has_rxe() { # root of a file system, version
	[ -n "$(find "$1/lib/modules/$2" -name 'rdma_rxe.ko*' 2>/dev/null)" ]
}

installed() {
	local version
	for version in /lib/modules/*; do
		version=${version##*/}
		if [ -r "/boot/vmlinuz-$version" ] && has_rxe / "$version"; then
			echo "$version"
			return
		fi
	done
}

download() {
	local package
	package=$(apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ -n "$package" ] || fail "apt knows no package linux-image-amd64"
	mkdir -p "$dir/new"
	(cd "$dir/new" && timeout "${KERNEL_DOWNLOAD_LIMIT:-120}" apt-get -q \
		-o APT::Sandbox::User=root download "$package") \
		>"$dir/download.log" 2>&1 ||
		fail "apt-get could not download $package ($dir/download.log)"
	mv "$dir"/new/*.deb "$dir/" && rmdir "$dir/new"
}

stage=$(mktemp -d "$dir/stage.XXXXXX") || exit 1
trap 'rm -rf "$stage"' EXIT
from=/
version=
if [ -z "${KERNEL_DEB-}" ]; then
	version=$(installed)
fi
if [ -z "$version" ]; then
	deb=${KERNEL_DEB:-$(find "$dir" -maxdepth 1 -name 'linux-image-*.deb' |
		sort -V | tail -n 1)}
	if [ -z "$deb" ]; then
		download || exit 1
		deb=$(find "$dir" -maxdepth 1 -name 'linux-image-*.deb')
	fi
	mkdir "$stage/kernel"
	dpkg-deb -x "$deb" "$stage/kernel" || fail "$deb: no package"
	from=$stage/kernel
	for version in "$from"/lib/modules/*; do
		version=${version##*/}
	done
	has_rxe "$from" "$version" || fail "$deb has no rdma_rxe"
	depmod -b "$from" "$version" || exit 1
fi

# The kernel proper inside the compressed image starts some seconds earlier.
python3 - "$from/boot/vmlinuz-$version" "$stage/vmlinuz" <<'PYTHON' ||
import lzma, sys
image = open(sys.argv[1], "rb").read()
start = image.index(b"\xfd7zXZ\0")
kernel = lzma.LZMADecompressor().decompress(image[start:])
if kernel[:4] != b"\x7fELF":
    sys.exit(1)
open(sys.argv[2], "wb").write(kernel)
PYTHON
	cp "$from/boot/vmlinuz-$version" "$stage/vmlinuz" || exit 1

root=$stage/root
mkdir -p "$root"/{bin,dev,proc,sys,lower,rw,modules} || exit 1
cp "$(command -v busybox)" "$root/bin/busybox" || exit 1
ln -s busybox "$root/bin/sh"
install -m 755 "$here/guest.sh" "$root/init"
install -m 644 "$here/shell.py" "$root/"
add_module() { # name, file that says the order
	local file name

	if ! modprobe -d "$from" -S "$version" --show-depends "$1" \
		>"$stage/depends" 2>&1; then
		fail "module $1: $(cat "$stage/depends")"
	fi
	while read -r _ file _; do
		name=$(basename "$file")
		name=${name%.xz} name=${name%.zst} name=${name%.gz}
		[ ! -e "$root/modules/$name" ] || continue
		case $file in
		*.xz) xz -dc "$file" >"$root/modules/$name" ;;
		*.zst) zstd -qdc "$file" >"$root/modules/$name" ;;
		*.gz) gzip -dc "$file" >"$root/modules/$name" ;;
		*) cp "$file" "$root/modules/$name" ;;
		esac || fail "module $name cannot be unpacked"
		echo "$name" >>"$root/modules/$2"
	done < <(grep '^insmod' "$stage/depends")
}

for module in $modules; do
	add_module "$module" order
done

# The module of ours without which the rdma_rxe of Linux 6.1 does not carry
# SMC-R. A machine without it is one for the other tests.
download_headers() {
	local short=${version%-amd64}

	[ -z "$(find "$dir" -maxdepth 1 -name "linux-headers-${version}_*.deb")" ] ||
		return 0
	mkdir -p "$dir/new"
	(cd "$dir/new" && timeout "${KERNEL_DOWNLOAD_LIMIT:-120}" apt-get -q \
		-o APT::Sandbox::User=root download "linux-headers-$version" \
		"linux-headers-$short-common" \
		"linux-kbuild-${short%%.0-*}") >>"$dir/download.log" 2>&1 ||
		return
	mv "$dir"/new/*.deb "$dir/" && rmdir "$dir/new"
}

make_rxe_smc() {
	local headers=$stage/headers package

	download_headers || return
	for package in "$dir"/linux-headers-*.deb "$dir"/linux-kbuild-*.deb; do
		dpkg-deb -x "$package" "$headers" || return
	done
	sed -i "s#/usr/src/#$headers/usr/src/#" \
		"$headers/usr/src/linux-headers-$version/Makefile" || return
	mkdir "$stage/rxe_smc" && cp "$here/rxe_smc.c" "$stage/rxe_smc/" &&
		echo "obj-m := rxe_smc.o" >"$stage/rxe_smc/Kbuild" || return
	make -C "$headers/usr/src/linux-headers-$version" \
		M="$stage/rxe_smc" modules >"$dir/rxe_smc.log" 2>&1 || return
	strip --strip-debug -o "$root/modules/rxe_smc.ko" \
		"$stage/rxe_smc/rxe_smc.ko"
}

rm -f "$dir/smc"
if make_rxe_smc; then
	for module in $smc_modules; do
		add_module "$module" smc
	done
	touch "$dir/smc"
fi
(cd "$root" && find . -print0 | cpio --quiet -0 -o -H newc -R 0:0) \
	>"$stage/initramfs" || fail "cpio failed"
mv "$stage/vmlinuz" "$dir/vmlinuz" && mv "$stage/initramfs" "$dir/initramfs" ||
	exit 1
echo "$version" >"$dir/version"
