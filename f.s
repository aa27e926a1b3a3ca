00000000000da220 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512>:
   da220:	push   %rbp
   da221:	mov    %rsp,%rbp
   da224:	push   %r15
   da226:	push   %r14
   da228:	push   %r13
   da22a:	push   %r12
   da22c:	push   %rbx
   da22d:	and    $0xffffffffffffffc0,%rsp
   da231:	sub    $0x240,%rsp
   da238:	mov    %rcx,%rbx
   da23b:	mov    (%rdx),%ecx
   da23d:	vmovd  0x4(%rdx),%xmm0
   da242:	mov    0x8(%rdx),%rax
   da246:	mov    0x10(%rdx),%r15d
   da24a:	vmovd  0x14(%rdx),%xmm18
   da251:	mov    0x18(%rdx),%r10
   da255:	mov    0x20(%rdx),%r12d
   da259:	vmovd  0x24(%rdx),%xmm17
   da260:	mov    0x28(%rdx),%r9
   da264:	mov    0x30(%rdx),%r13d
   da268:	vmovd  0x34(%rdx),%xmm16
   da26f:	mov    0x38(%rdx),%r8
   da273:	cmp    $0x10,%rbx
   da277:	jae    da308 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0xe8>
   da27d:	xor    %r14d,%r14d
   da280:	sub    %r14,%rbx
   da283:	je     da952 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x732>
   da289:	vpxor  %xmm1,%xmm1,%xmm1
   da28d:	vmovdqa64 %zmm1,0x80(%rsp)
   da295:	test   $0x1,%cl
   da298:	mov    %rsi,0x48(%rsp)
   da29d:	mov    %rdi,0x38(%rsp)
   da2a2:	vmovdqa64 %xmm16,0x60(%rsp)
   da2aa:	mov    %r8,0x30(%rsp)
   da2af:	vmovdqa64 %xmm17,0x50(%rsp)
   da2b7:	mov    %r9,0x28(%rsp)
   da2bc:	je     da5f9 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x3d9>
   da2c2:	vpbroadcastd %xmm0,%zmm0
   da2c8:	vmovdqa64 %zmm0,0x80(%rsp)
   da2d0:	vpxor  %xmm0,%xmm0,%xmm0
   da2d4:	vmovdqa64 %zmm0,0xc0(%rsp)
   da2dc:	test   $0x1,%r15b
   da2e0:	jne    da646 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x426>
   da2e6:	lea    (%r10,%r14,4),%rsi
   da2ea:	lea    0x0(,%rbx,4),%rdx
   da2f2:	lea    0xc0(%rsp),%rdi
   da2fa:	vzeroupper
   da2fd:	call   *0x1b75bd(%rip)        # 2918c0 <memcpy@GLIBC_2.14>
   da303:	jmp    da654 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x434>
   da308:	vpbroadcastd %xmm0,%zmm1
   da30e:	vpbroadcastd %xmm18,%zmm2
   da314:	vpbroadcastd %xmm17,%zmm3
   da31a:	vpbroadcastd %xmm16,%zmm4
   da320:	xor    %edx,%edx
   da322:	vpbroadcastd -0x98728(%rip),%zmm5        # 41c04 <criterion::plot::gnuplot_backend::summary::COMPARISON_COLORS+0x3a4>
   da32c:	vpternlogd $0xff,%zmm6,%zmm6,%zmm6
   da333:	vpbroadcastd -0x987d9(%rip),%zmm7        # 41b64 <criterion::plot::gnuplot_backend::summary::COMPARISON_COLORS+0x304>
   da33d:	vpbroadcastd -0x987df(%rip),%zmm8        # 41b68 <criterion::plot::gnuplot_backend::summary::COMPARISON_COLORS+0x308>
   da347:	vpbroadcastd -0x988e9(%rip),%zmm9        # 41a68 <criterion::plot::gnuplot_backend::summary::COMPARISON_COLORS+0x208>
   da351:	vpbroadcastd -0x988ef(%rip),%zmm10        # 41a6c <criterion::plot::gnuplot_backend::summary::COMPARISON_COLORS+0x20c>
   da35b:	jmp    da571 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x351>
   da360:	vmovdqa64 %zmm12,%zmm13
   da366:	vpternlogd $0x96,%zmm5,%zmm11,%zmm13
   da36d:	vpaddd %zmm11,%zmm14,%zmm14
   da373:	vpaddd %zmm12,%zmm15,%zmm15
   da379:	vpaddd %zmm15,%zmm14,%zmm14
   da37f:	vprold $0xd,%zmm15,%zmm15
   da386:	vpxord %zmm14,%zmm15,%zmm15
   da38c:	vpaddd %zmm14,%zmm15,%zmm14
   da392:	vprold $0xf,%zmm15,%zmm15
   da399:	vpxord %zmm14,%zmm15,%zmm15
   da39f:	vpaddd %zmm14,%zmm15,%zmm14
   da3a5:	vprold $0x1a,%zmm15,%zmm15
   da3ac:	vpxord %zmm14,%zmm15,%zmm15
   da3b2:	vpaddd %zmm14,%zmm15,%zmm14
   da3b8:	vprold $0x6,%zmm15,%zmm15
   da3bf:	vpxord %zmm14,%zmm15,%zmm15
   da3c5:	vpaddd %zmm12,%zmm14,%zmm14
   da3cb:	vpaddd %zmm15,%zmm13,%zmm15
   da3d1:	vpsubd %zmm6,%zmm15,%zmm15
   da3d7:	vpaddd %zmm15,%zmm14,%zmm14
   da3dd:	vprold $0x11,%zmm15,%zmm15
   da3e4:	vpxord %zmm14,%zmm15,%zmm15
   da3ea:	vpaddd %zmm14,%zmm15,%zmm14
   da3f0:	vprold $0x1d,%zmm15,%zmm15
   da3f7:	vpxord %zmm14,%zmm15,%zmm15
   da3fd:	vpaddd %zmm14,%zmm15,%zmm14
   da403:	vprold $0x10,%zmm15,%zmm15
   da40a:	vpxord %zmm14,%zmm15,%zmm15
   da410:	vpaddd %zmm14,%zmm15,%zmm14
   da416:	vprold $0x18,%zmm15,%zmm15
   da41d:	vpxord %zmm14,%zmm15,%zmm15
   da423:	vpaddd %zmm13,%zmm14,%zmm14
   da429:	vpaddd %zmm15,%zmm11,%zmm15
   da42f:	vpaddd %zmm7,%zmm15,%zmm15
   da435:	vpaddd %zmm15,%zmm14,%zmm14
   da43b:	vprold $0xd,%zmm15,%zmm15
   da442:	vpxord %zmm14,%zmm15,%zmm15
   da448:	vpaddd %zmm14,%zmm15,%zmm14
   da44e:	vprold $0xf,%zmm15,%zmm15
   da455:	vpxord %zmm14,%zmm15,%zmm15
   da45b:	vpaddd %zmm14,%zmm15,%zmm14
   da461:	vprold $0x1a,%zmm15,%zmm15
   da468:	vpxord %zmm14,%zmm15,%zmm15
   da46e:	vpaddd %zmm14,%zmm15,%zmm14
   da474:	vprold $0x6,%zmm15,%zmm15
   da47b:	vpxord %zmm14,%zmm15,%zmm15
   da481:	vpaddd %zmm11,%zmm14,%zmm14
   da487:	vpaddd %zmm15,%zmm12,%zmm15
   da48d:	vpaddd %zmm8,%zmm15,%zmm15
   da493:	vpaddd %zmm15,%zmm14,%zmm14
   da499:	vprold $0x11,%zmm15,%zmm15
   da4a0:	vpxord %zmm14,%zmm15,%zmm15
   da4a6:	vpaddd %zmm14,%zmm15,%zmm14
   da4ac:	vprold $0x1d,%zmm15,%zmm15
   da4b3:	vpxord %zmm14,%zmm15,%zmm15
   da4b9:	vpaddd %zmm14,%zmm15,%zmm14
   da4bf:	vprold $0x10,%zmm15,%zmm15
   da4c6:	vpxord %zmm14,%zmm15,%zmm15
   da4cc:	vpaddd %zmm14,%zmm15,%zmm14
   da4d2:	vprold $0x18,%zmm15,%zmm15
   da4d9:	vpxord %zmm14,%zmm15,%zmm15
   da4df:	vpaddd %zmm12,%zmm14,%zmm12
   da4e5:	vpaddd %zmm15,%zmm13,%zmm14
   da4eb:	vpaddd %zmm9,%zmm14,%zmm14
   da4f1:	vpaddd %zmm14,%zmm12,%zmm12
   da4f7:	vprold $0xd,%zmm14,%zmm14
   da4fe:	vpxord %zmm12,%zmm14,%zmm14
   da504:	vpaddd %zmm12,%zmm14,%zmm12
   da50a:	vprold $0xf,%zmm14,%zmm14
   da511:	vpxord %zmm12,%zmm14,%zmm14
   da517:	vpaddd %zmm12,%zmm14,%zmm12
   da51d:	vprold $0x1a,%zmm14,%zmm14
   da524:	vpxord %zmm12,%zmm14,%zmm14
   da52a:	vpaddd %zmm12,%zmm14,%zmm12
   da530:	vprold $0x6,%zmm14,%zmm14
   da537:	vpxord %zmm12,%zmm14,%zmm14
   da53d:	vpaddd %zmm13,%zmm12,%zmm12
   da543:	vpaddd %zmm14,%zmm11,%zmm11
   da549:	vpaddd %zmm10,%zmm11,%zmm11
   da54f:	vmovdqu64 %zmm12,(%rdi,%rdx,4)
   da556:	vmovdqu64 %zmm11,(%rsi,%rdx,4)
   da55d:	lea    0x10(%rdx),%r14
   da561:	add    $0x20,%rdx
   da565:	cmp    %rbx,%rdx
   da568:	mov    %r14,%rdx
   da56b:	ja     da280 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x60>
   da571:	vmovdqa64 %zmm1,%zmm11
   da577:	test   $0x1,%cl
   da57a:	je     da5b0 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x390>
   da57c:	vmovdqa64 %zmm2,%zmm12
   da582:	test   $0x1,%r15b
   da586:	je     da5c3 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x3a3>
   da588:	vmovdqa64 %zmm3,%zmm14
   da58e:	test   $0x1,%r12b
   da592:	je     da5d6 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x3b6>
   da594:	vmovdqa64 %zmm4,%zmm15
   da59a:	test   $0x1,%r13b
   da59e:	jne    da360 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x140>
   da5a4:	jmp    da5ed <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x3cd>
   da5a6:	cs nopw 0x0(%rax,%rax,1)
   da5b0:	vmovdqu64 (%rax,%rdx,4),%zmm11
   da5b7:	vmovdqa64 %zmm2,%zmm12
   da5bd:	test   $0x1,%r15b
   da5c1:	jne    da588 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x368>
   da5c3:	vmovdqu64 (%r10,%rdx,4),%zmm12
   da5ca:	vmovdqa64 %zmm3,%zmm14
   da5d0:	test   $0x1,%r12b
   da5d4:	jne    da594 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x374>
   da5d6:	vmovdqu64 (%r9,%rdx,4),%zmm14
   da5dd:	vmovdqa64 %zmm4,%zmm15
   da5e3:	test   $0x1,%r13b
   da5e7:	jne    da360 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x140>
   da5ed:	vmovdqu64 (%r8,%rdx,4),%zmm15
   da5f4:	jmp    da360 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x140>
   da5f9:	lea    (%rax,%r14,4),%rsi
   da5fd:	lea    0x0(,%rbx,4),%rdx
   da605:	lea    0x80(%rsp),%rdi
   da60d:	vmovdqa64 %xmm18,0x70(%rsp)
   da615:	mov    %r10,0x40(%rsp)
   da61a:	vzeroupper
   da61d:	call   *0x1b729d(%rip)        # 2918c0 <memcpy@GLIBC_2.14>
   da623:	mov    0x40(%rsp),%r10
   da628:	vmovdqa64 0x70(%rsp),%xmm18
   da630:	vpxor  %xmm0,%xmm0,%xmm0
   da634:	vmovdqa64 %zmm0,0xc0(%rsp)
   da63c:	test   $0x1,%r15b
   da640:	je     da2e6 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0xc6>
   da646:	vpbroadcastd %xmm18,%zmm0
   da64c:	vmovdqa64 %zmm0,0xc0(%rsp)
   da654:	vmovdqa 0x50(%rsp),%xmm1
   da65a:	mov    0x28(%rsp),%rax
   da65f:	vpxor  %xmm0,%xmm0,%xmm0
   da663:	vmovdqa64 %zmm0,0x100(%rsp)
   da66b:	test   $0x1,%r12b
   da66f:	je     da681 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x461>
   da671:	vpbroadcastd %xmm1,%zmm0
   da677:	vmovdqa64 %zmm0,0x100(%rsp)
   da67f:	jmp    da69e <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x47e>
   da681:	lea    (%rax,%r14,4),%rsi
   da685:	lea    0x0(,%rbx,4),%rdx
   da68d:	lea    0x100(%rsp),%rdi
   da695:	vzeroupper
   da698:	call   *0x1b7222(%rip)        # 2918c0 <memcpy@GLIBC_2.14>
   da69e:	vmovdqa 0x60(%rsp),%xmm1
   da6a4:	mov    0x30(%rsp),%rax
   da6a9:	vpxor  %xmm0,%xmm0,%xmm0
   da6ad:	vmovdqa64 %zmm0,0x140(%rsp)
   da6b5:	test   $0x1,%r13b
   da6b9:	je     da6cb <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x4ab>
   da6bb:	vpbroadcastd %xmm1,%zmm0
   da6c1:	vmovdqa64 %zmm0,0x140(%rsp)
   da6c9:	jmp    da6e8 <quickstudy_core::backend::cpu::simd::elementwise::threefry::avx512+0x4c8>
   da6cb:	lea    (%rax,%r14,4),%rsi
   da6cf:	lea    0x0(,%rbx,4),%rdx
   da6d7:	lea    0x140(%rsp),%rdi
   da6df:	vzeroupper
   da6e2:	call   *0x1b71d8(%rip)        # 2918c0 <memcpy@GLIBC_2.14>
   da6e8:	mov    0x38(%rsp),%rax
   da6ed:	vmovdqa64 0x80(%rsp),%zmm0
   da6f5:	vmovdqa64 0xc0(%rsp),%zmm2
   da6fd:	vpbroadcastd -0x98b03(%rip),%zmm1        # 41c04 <criterion::plot::gnuplot_backend::summary::COMPARISON_COLORS+0x3a4>
   da707:	vpternlogd $0x96,%zmm2,%zmm0,%zmm1
   da70e:	vpaddd 0x100(%rsp),%zmm0,%zmm3
   da716:	vpaddd 0x140(%rsp),%zmm2,%zmm4
   da71e:	vpaddd %zmm4,%zmm3,%zmm3
   da724:	vprold $0xd,%zmm4,%zmm4
   da72b:	vpxord %zmm3,%zmm4,%zmm4
   da731:	vpaddd %zmm3,%zmm4,%zmm3
   da737:	vprold $0xf,%zmm4,%zmm4
   da73e:	vpxord %zmm3,%zmm4,%zmm4
   da744:	vpaddd %zmm3,%zmm4,%zmm3
   da74a:	vprold $0x1a,%zmm4,%zmm4
   da751:	vpxord %zmm3,%zmm4,%zmm4
   da757:	vpaddd %zmm3,%zmm4,%zmm3
   da75d:	vprold $0x6,%zmm4,%zmm4
   da764:	vpxord %zmm3,%zmm4,%zmm4
   da76a:	vpaddd %zmm2,%zmm3,%zmm3
   da770:	vpaddd %zmm4,%zmm1,%zmm4
   da776:	vpternlogd $0xff,%zmm5,%zmm5,%zmm5
   da77d:	vpsubd %zmm5,%zmm4,%zmm4
   da783:	vpaddd %zmm4,%zmm3,%zmm3
   da789:	vprold $0x11,%zmm4,%zmm4
   da790:	vpxord %zmm3,%zmm4,%zmm4
   da796:	vpaddd %zmm3,%zmm4,%zmm3
   da79c:	vprold $0x1d,%zmm4,%zmm4
   da7a3:	vpxord %zmm3,%zmm4,%zmm4
   da7a9:	vpaddd %zmm3,%zmm4,%zmm3
   da7af:	vprold $0x10,%zmm4,%zmm4
   da7b6:	vpxord %zmm3,%zmm4,%zmm4
   da7bc:	vpaddd %zmm3,%zmm4,%zmm3
   da7c2:	vprold $0x18,%zmm4,%zmm4
   da7c9:	vpxord %zmm3,%zmm4,%zmm4
   da7cf:	vpaddd %zmm1,%zmm3,%zmm3
   da7d5:	vpaddd %zmm4,%zmm0,%zmm4
   da7db:	vpaddd -0x98c81(%rip){1to16},%zmm4,%zmm4        # 41b64 <criterion::plot::gnuplot_backend::summary::COMPARISON_COLORS+0x304>
   da7e5:	vpaddd %zmm4,%zmm3,%zmm3
   da7eb:	vprold $0xd,%zmm4,%zmm4
   da7f2:	vpxord %zmm3,%zmm4,%zmm4
   da7f8:	vpaddd %zmm3,%zmm4,%zmm3
   da7fe:	vprold $0xf,%zmm4,%zmm4
   da805:	vpxord %zmm3,%zmm4,%zmm4
   da80b:	vpaddd %zmm3,%zmm4,%zmm3
   da811:	vprold $0x1a,%zmm4,%zmm4
   da818:	vpxord %zmm3,%zmm4,%zmm4
   da81e:	vpaddd %zmm3,%zmm4,%zmm3
   da824:	vprold $0x6,%zmm4,%zmm4
   da82b:	vpxord %zmm3,%zmm4,%zmm4
   da831:	vpaddd %zmm0,%zmm3,%zmm3
   da837:	vpaddd %zmm4,%zmm2,%zmm4
   da83d:	vpaddd -0x98cdf(%rip){1to16},%zmm4,%zmm4        # 41b68 <criterion::plot::gnuplot_backend::summary::COMPARISON_COLORS+0x308>
   da847:	vpaddd %zmm4,%zmm3,%zmm3
   da84d:	vprold $0x11,%zmm4,%zmm4
   da854:	vpxord %zmm3,%zmm4,%zmm4
   da85a:	vpaddd %zmm3,%zmm4,%zmm3
   da860:	vprold $0x1d,%zmm4,%zmm4
   da867:	vpxord %zmm3,%zmm4,%zmm4
   da86d:	vpaddd %zmm3,%zmm4,%zmm3
   da873:	vprold $0x10,%zmm4,%zmm4
   da87a:	vpxord %zmm3,%zmm4,%zmm4
   da880:	vpaddd %zmm3,%zmm4,%zmm3
   da886:	vprold $0x18,%zmm4,%zmm4
   da88d:	vpxord %zmm3,%zmm4,%zmm4
   da893:	vpaddd %zmm2,%zmm3,%zmm2
   da899:	vpaddd %zmm4,%zmm1,%zmm3
   da89f:	vpaddd -0x98e41(%rip){1to16},%zmm3,%zmm3        # 41a68 <criterion::plot::gnuplot_backend::summary::COMPARISON_COLORS+0x208>
   da8a9:	vpaddd %zmm3,%zmm2,%zmm2
   da8af:	vprold $0xd,%zmm3,%zmm3
   da8b6:	vpxord %zmm2,%zmm3,%zmm3
   da8bc:	vpaddd %zmm2,%zmm3,%zmm2
   da8c2:	vprold $0xf,%zmm3,%zmm3
   da8c9:	vpxord %zmm2,%zmm3,%zmm3
   da8cf:	vpaddd %zmm2,%zmm3,%zmm2
   da8d5:	vprold $0x1a,%zmm3,%zmm3
   da8dc:	vpxord %zmm2,%zmm3,%zmm3
   da8e2:	vpaddd %zmm2,%zmm3,%zmm2
   da8e8:	vprold $0x6,%zmm3,%zmm3
   da8ef:	vpxord %zmm2,%zmm3,%zmm3
   da8f5:	vpaddd %zmm1,%zmm2,%zmm1
   da8fb:	vpaddd %zmm3,%zmm0,%zmm0
   da901:	vpaddd -0x98e9f(%rip){1to16},%zmm0,%zmm0        # 41a6c <criterion::plot::gnuplot_backend::summary::COMPARISON_COLORS+0x20c>
   da90b:	vmovdqa64 %zmm1,0x180(%rsp)
   da913:	vmovdqa64 %zmm0,0x1c0(%rsp)
   da91b:	lea    (%rax,%r14,4),%rdi
   da91f:	shl    $0x2,%rbx
   da923:	lea    0x180(%rsp),%rsi
   da92b:	mov    0x1b6f8e(%rip),%r15        # 2918c0 <memcpy@GLIBC_2.14>
   da932:	mov    %rbx,%rdx
   da935:	vzeroupper
   da938:	call   *%r15
   da93b:	mov    0x48(%rsp),%rax
   da940:	lea    (%rax,%r14,4),%rdi
   da944:	lea    0x1c0(%rsp),%rsi
   da94c:	mov    %rbx,%rdx
   da94f:	call   *%r15
   da952:	lea    -0x28(%rbp),%rsp
   da956:	pop    %rbx
   da957:	pop    %r12
   da959:	pop    %r13
   da95b:	pop    %r14
   da95d:	pop    %r15
   da95f:	pop    %rbp
   da960:	vzeroupper
   da963:	ret
   da964:	int3
   da965:	int3
   da966:	int3
   da967:	int3
   da968:	int3
   da969:	int3
   da96a:	int3
   da96b:	int3
   da96c:	int3
   da96d:	int3
   da96e:	int3
   da96f:	int3

