# SPDX-License-Identifier: Apache-2.0
# libraries.mk - the libraries that the Python extension holds, from Debian's sources, as archives of position-independent
# code. make -f tools/wheel/libraries.mk FROM=sources OUT=folder CPU=x86_64 CC="zig cc -target ..."
# Each library: its folder, its sources, its flags. What only writes files, or is only for their programs, is left out.
CFLAGS := -O2 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -w -I$(OUT)/include
folder  = $(patsubst $(FROM)/%,%,$(firstword $(wildcard $(FROM)/$(1)-*/.)))
sources = $(patsubst $(FROM)/%.c,%.c,$(wildcard $(addprefix $(FROM)/$(1)/,$(2))))

LUA   := $(call folder,lua5.4)/src
ZLIB  := $(call folder,zlib)
YAML  := $(call folder,libyaml)
EXPAT := $(call folder,expat)/expat/lib
JPEG  := $(call folder,libjpeg-turbo)
PNG   := $(call folder,libpng1.6)
WEBP  := $(call folder,libwebp)
FLAC  := $(call folder,flac)/src/libFLAC
OGG   := $(call folder,libogg)
ZSTD  := $(call folder,libzstd)/lib

lua5.4_SRC := $(filter-out %/lua.c %/luac.c,$(call sources,$(LUA),*.c))
lua5.4_FLAGS := -DLUA_USE_POSIX
z_SRC := $(call sources,$(ZLIB),adler32.c crc32.c deflate.c inf*.c trees.c zutil.c compress.c uncompr.c)
z_FLAGS := -DHAVE_UNISTD_H -DHAVE_HIDDEN
yaml_SRC := $(call sources,$(YAML),src/*.c)
yaml_FLAGS := -I$(FROM)/$(YAML)/include -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING='"0.2.5"'
expat_SRC := $(call sources,$(EXPAT),xmlparse.c xmlrole.c xmltok.c)
expat_FLAGS := -DXML_NS -DXML_DTD -DXML_CONTEXT_BYTES=1024 -DXML_DEV_URANDOM -DBYTEORDER=1234 -I$(OUT)/expat
# The reading half of libjpeg-turbo with its SIMD. Some of its files are only included by others.
jpeg_SRC := $(filter-out %-tj.c %/jdatadst.c %/jdcol565.c %/jdcolext.c %/jdmrg565.c %/jdmrgext.c,\
              $(call sources,$(JPEG),jaricom.c jcomapi.c jd*.c jerror.c jidct*.c jmem*.c jquant*.c jutils.c))
jpeg_SRC_x86_64 := $(JPEG)/simd/x86_64/jsimd.c $(patsubst $(FROM)/%,%,$(filter-out $(foreach part,jccolext jcgryext jdcolext jdmrgext,%/$(part)-sse2.asm %/$(part)-avx2.asm),\
                     $(wildcard $(FROM)/$(JPEG)/simd/x86_64/*.asm)))
jpeg_SRC_aarch64 := $(JPEG)/simd/arm/aarch64/jsimd.c $(JPEG)/simd/arm/aarch64/jchuff-neon.c \
                      $(filter-out %/jcgryext-neon.c %/jdcolext-neon.c %/jdmrgext-neon.c,$(call sources,$(JPEG),simd/arm/*.c))
jpeg_FLAGS := -I$(OUT)/jpeg -I$(FROM)/$(JPEG) -I$(FROM)/$(JPEG)/simd/arm -DNEON_INTRINSICS
png16_SRC := $(filter-out %/pngtest.c %/example.c,$(call sources,$(PNG),png*.c)) # decode_png.c has what keeps pngwutil.c out
png16_SRC := $(filter-out $(addprefix %/,pngwio.c pngwrite.c pngwtran.c pngwutil.c),$(png16_SRC))
png16_SRC += $(call sources,$(PNG),$(if $(filter aarch64,$(CPU)),arm/arm_init.c arm/filter_neon_intrinsics.c arm/palette_neon_intrinsics.c,intel/*.c))
png16_FLAGS := -DPNG_ARM_NEON_OPT=2 -DPNG_INTEL_SSE_OPT=1
webp_SRC := $(filter-out %enc.c %_mips32.c %_mips_dsp_r2.c %_msa.c,$(call sources,$(WEBP),src/dec/*.c src/dsp/*.c src/utils/*.c))
webp_FLAGS := -I$(FROM)/$(WEBP) -DNDEBUG
FLAC_SRC := $(filter-out %encoder.c %encoder_aspect.c %_avx2.c %_ssse3.c %_sse2.c %_sse41.c %_fma.c %_vsx.c %_framing.c,$(call sources,$(FLAC),*.c))
FLAC_FLAGS := -I$(FROM)/$(FLAC)/include -I$(FROM)/$(FLAC)/../../include -DHAVE_CONFIG_H -I$(OUT)/flac
ogg_SRC := $(call sources,$(OGG),src/*.c)
ogg_FLAGS :=
zstd_SRC := $(call sources,$(ZSTD),common/*.c decompress/*.c)
zstd_FLAGS := -DZSTD_DISABLE_ASM -DZSTD_LEGACY_SUPPORT=0 -DXXH_NAMESPACE=ZSTD_

NAMES := lua5.4 z zstd yaml expat jpeg png16 webp FLAC ogg
objects = $(patsubst %,$(OUT)/obj/%.o,$($(1)_SRC) $($(1)_SRC_$(CPU)))
all: $(NAMES:%=$(OUT)/lib%.a)

# Headers where the sources look for them, and the configuration of those that have one.
$(OUT)/include/.made: tools/wheel/libraries.mk
	rm -rf $(OUT)/include $(OUT)/jpeg $(OUT)/flac $(OUT)/expat
	mkdir -p $(OUT)/include/lua5.4 $(OUT)/jpeg $(OUT)/flac $(OUT)/expat
	: >$(OUT)/expat/expat_config.h
	cp $(FROM)/$(LUA)/*.h $(OUT)/include/lua5.4
	echo '#define DEB_HOST_MULTIARCH "$(CPU)-linux-gnu"' >$(OUT)/include/lua5.4-deb-multiarch.h
	cp $(addprefix $(FROM)/,$(ZLIB)/zlib.h $(ZLIB)/zconf.h $(YAML)/include/yaml.h $(EXPAT)/expat.h $(EXPAT)/expat_external.h \
	    $(ZSTD)/zstd.h $(ZSTD)/zstd_errors.h $(JPEG)/jpeglib.h $(JPEG)/jmorecfg.h $(JPEG)/jerror.h $(PNG)/png.h $(PNG)/pngconf.h) $(OUT)/include
	cp $(FROM)/$(PNG)/scripts/pnglibconf.h.prebuilt $(OUT)/include/pnglibconf.h
	cp -R $(FROM)/$(WEBP)/src/webp $(FROM)/$(FLAC)/../../include/FLAC $(FROM)/$(OGG)/include/ogg $(OUT)/include
	sed 's/@INCLUDE_[A-Z_]*@/1/; s/@U*SIZE\([0-9]*\)@/int\1_t/; s/int\([0-9]*\)_t ogg_u/uint\1_t ogg_u/' \
	    $(FROM)/$(OGG)/include/ogg/config_types.h.in >$(OUT)/include/ogg/config_types.h
	sed 's/@JPEG_LIB_VERSION@/62/; s/@VERSION@/2.1.5/; s/@LIBJPEG_TURBO_VERSION_NUMBER@/2001005/; s/@BITS_IN_JSAMPLE@/8/; s/^#cmakedefine RIGHT.*//; s/^#cmakedefine/#define/' \
	    $(FROM)/$(JPEG)/jconfig.h.in >$(OUT)/include/jconfig.h
	sed 's/@BUILD@/0/; s/@INLINE@/__inline__/; s/@THREAD_LOCAL@/__thread/; s/@CMAKE_PROJECT_NAME@/libjpeg-turbo/; s/@VERSION@/2.1.5/; s/@SIZE_T@/8/; s/^#cmakedefine HAVE_INTRIN.*//; s/^#cmakedefine/#define/' \
	    $(FROM)/$(JPEG)/jconfigint.h.in >$(OUT)/jpeg/jconfigint.h
	sed 's/@COPYRIGHT_YEAR@/1991-2023/' $(FROM)/$(JPEG)/jversion.h.in >$(OUT)/jpeg/jversion.h
	sed 's/^#cmakedefine/#define/' $(FROM)/$(JPEG)/simd/arm/neon-compat.h.in >$(OUT)/jpeg/neon-compat.h
	printf '%s\n' '#define PACKAGE_VERSION "1.4.2"' '#define CPU_IS_BIG_ENDIAN 0' '#define CPU_IS_LITTLE_ENDIAN 1' '#define ENABLE_64_BIT_WORDS 1' \
	    '#define FLAC__HAS_OGG 1' '#define FLAC__NO_DLL 1' '#define FLAC__SYS_LINUX 1' '#define FLAC__NO_ASM 1' '#define FLAC__ALIGN_MALLOC_DATA 1' \
	    '#define HAVE_BSWAP16 1' '#define HAVE_BSWAP32 1' '#define HAVE_BYTESWAP_H 1' '#define HAVE_FSEEKO 1' '#define HAVE_INTTYPES_H 1' '#define HAVE_LROUND 1' \
	    '#define HAVE_STDINT_H 1' '#define HAVE_TYPEOF 1' >$(OUT)/flac/config.h
	touch $@

define LIBRARY
$(OUT)/lib$(1).a: $(call objects,$(1))
	rm -f $$@ && ar rcs $$@ $$^
$(filter %.c.o,$(call objects,$(1))): $(OUT)/obj/%.c.o: $(FROM)/%.c $(OUT)/include/.made
	@mkdir -p $$(@D)
	$$(CC) $(CFLAGS) $($(1)_FLAGS) -c -o $$@ $$<
endef
$(foreach name,$(NAMES),$(eval $(call LIBRARY,$(name))))
$(OUT)/obj/%.asm.o: $(FROM)/%.asm
	@mkdir -p $(@D)
	nasm -felf64 -DELF -DPIC -D__x86_64__ -I$(FROM)/$(JPEG)/simd/nasm/ -I$(dir $<) -o $@ $<
.PHONY: all
