//! Encodings and fields by name, as the tables spell them.

/// Declares an enum whose variants have names in the tables.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs, reason = "the names are those of the manuals")]
        pub enum $name { $($variant),* }

        impl $name {
            /// All of them, in the order of the declaration.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The name in the tables.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }

            /// The one of that name.
            pub fn parse(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named! {
    /// The layout of an instruction's bits. DPP and SDWA forms are encodings of their own.
    Encoding {
        Sop1 = "sop1", Sop2 = "sop2", Sopc = "sopc", Sopk = "sopk", Sopp = "sopp", Smem = "smem",
        Vop1 = "vop1", Vop2 = "vop2", Vopc = "vopc", Vop3 = "vop3", Vop3p = "vop3p", Mai = "mai",
        Vop1Sdwa = "vop1_sdwa", Vop2Sdwa = "vop2_sdwa", VopcSdwa = "vopc_sdwa",
        Vop1Dpp16 = "vop1_dpp16", Vop2Dpp16 = "vop2_dpp16", VopcDpp16 = "vopc_dpp16",
        Vop1Dpp8 = "vop1_dpp8", Vop2Dpp8 = "vop2_dpp8", VopcDpp8 = "vopc_dpp8",
        Vop3Dpp16 = "vop3_dpp16", Vop3Dpp8 = "vop3_dpp8",
        Vop3pDpp16 = "vop3p_dpp16", Vop3pDpp8 = "vop3p_dpp8",
        Vopd = "vopd", Vinterp = "vinterp", Vintrp = "vintrp", Ldsdir = "ldsdir", Ds = "ds",
        Flat = "flat", Global = "global", Scratch = "scratch", Mubuf = "mubuf", Mtbuf = "mtbuf",
        Mimg = "mimg", Vimage = "vimage", Vsample = "vsample", Exp = "exp",
    }
}

named! {
    /// A field of an encoding.
    Field {
        Simm16 = "simm16", Ssrc0 = "ssrc0", Ssrc1 = "ssrc1", Sdst = "sdst",
        Src0 = "src0", Src1 = "src1", Src2 = "src2", Src3 = "src3", Vsrc = "vsrc", Vsrc1 = "vsrc1",
        Vdst = "vdst", Sdata = "sdata", Sbase = "sbase", Soffset = "soffset", Soffen = "soffen",
        Imm = "imm", Offset = "offset", Offset0 = "offset0", Offset1 = "offset1", Addr = "addr",
        Data = "data", Data0 = "data0", Data1 = "data1", Saddr = "saddr", Vaddr = "vaddr",
        Vdata = "vdata", Srsrc = "srsrc", Abs = "abs", Neg = "neg", NegHi = "neghi", OpSel = "opsel",
        OpSelHi = "opselhi", OpSelHi2 = "opselhi2", Clamp = "clamp", Omod = "omod",
        DppCtrl = "dppctrl", DppSel = "dppsel", Fi = "fi", Bc = "bc", BankMask = "bankmask",
        RowMask = "rowmask", DstSel = "dstsel", DstUnused = "dstunused", Src0Sel = "src0sel",
        Src1Sel = "src1sel", Src0Sext = "src0sext", Src1Sext = "src1sext", Src0Neg = "src0neg",
        Src1Neg = "src1neg", Src0Abs = "src0abs", Src1Abs = "src1abs", Src0S = "src0s",
        Src1S = "src1s", Sd = "sd", Cbsz = "cbsz", Abid = "abid", Blgp = "blgp", Acc = "acc",
        AccCd = "acccd", Gds = "gds", Glc = "glc", Slc = "slc", Dlc = "dlc", Scc = "scc", Sc0 = "sc0",
        Sc1 = "sc1", Nt = "nt", Nv = "nv", Lds = "lds", Tfe = "tfe", Sve = "sve", Offen = "offen",
        Idxen = "idxen", Format = "format", Scope = "scope", ScaleOffset = "scaleoffset", Th = "th", Dmask = "dmask", Nsa = "nsa",
        X = "x", En = "en", Tgt = "tgt", Done = "done", Vm = "vm", Compr = "compr", Row = "row",
        Attr = "attr", AttrChan = "attrchan", WaitExp = "waitexp", WaitVdst = "waitvdst",
        WaitVmVsrc = "waitvmvsrc", Lit = "lit",
        OpX = "opx", OpY = "opy", SrcX0 = "srcx0", SrcY0 = "srcy0", VsrcX1 = "vsrcx1",
        VsrcY1 = "vsrcy1", VdstX = "vdstx", VdstY = "vdsty",
    }
}
