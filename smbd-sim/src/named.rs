//! Enumerations with a name for each variant.

/// An enumeration with all its variants, and the name that each has in reports, in JSON, or on the command line.
macro_rules! named {
    ($(#[$about:meta])* $vis:vis enum $Enum:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $Enum {
            $($(#[$doc])* $variant,)*
        }

        impl $Enum {
            /// All of them.
            $vis const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name, which is stable.
            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}
pub(crate) use named;
