/* SPDX-License-Identifier: Apache-2.0 OR MIT
 * What a BPF program needs besides the kernel's own headers: helpers by their numbers (include/uapi/linux/bpf.h), how maps are
 * declared, byte order. So clang is the only package that is needed to compile one.
 */
#pragma once
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <stddef.h>

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int (*name)[value]
#define __type(name, type) typeof(type) *name
#define inline_ static __attribute__((always_inline)) inline
#define once_ __attribute__((noinline)) /* not static: the verifier goes through it once, whoever calls */
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define be16(x) __builtin_bswap16(x) /* to or from network order: this is built for little endian */
#define be32(x) __builtin_bswap32(x)

static void *(*map_get)(void *, const void *) = (void *)1;
static long (*map_put)(void *, const void *, const void *, u64) = (void *)2;
static long (*map_drop)(void *, const void *) = (void *)3;
static u64 (*clock_ns)(void) = (void *)5;
static long (*skb_store)(void *, u32, const void *, u32, u64) = (void *)9;
static long (*csum_replace)(void *, u32, u64, u64, u64) = (void *)11;
static long (*clone_redirect)(void *, u32, u64) = (void *)13;
static long (*skb_load)(const void *, u32, void *, u32) = (void *)26;
static s64 (*csum_diff)(void *, u32, void *, u32, u32) = (void *)28;
static long (*skb_change_tail)(void *, u32, u64) = (void *)38;
static long (*fib_lookup)(void *, struct bpf_fib_lookup *, int, u32) = (void *)69;
static long (*sk_release)(void *) = (void *)86;
static void *(*skc_lookup_tcp)(void *, struct bpf_sock_tuple *, u32, u64, u64) = (void *)99;
static long (*check_syncookie)(void *, void *, u32, void *, u32) = (void *)100;
static long (*probe_read)(void *, u32, const void *) = (void *)113;
static long (*sk_assign)(void *, void *, u64) = (void *)124;
static struct tcp_sock *(*skc_to_tcp)(void *) = (void *)137;
static long (*bpf_loop)(u32, void *, void *, u64) = (void *)181;
static long (*xdp_load)(void *, u32, void *, u32) = (void *)189;
