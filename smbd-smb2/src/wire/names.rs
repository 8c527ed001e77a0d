//! Numbers with names. Any value may arrive and is kept; those with a name are constants.

/// A number of which some values have names.
macro_rules! values {
    ($(
        $(#[$doc:meta])*
        pub struct $Name:ident($T:ty) { $($CONST:ident = $value:literal $name:literal,)* }
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $Name(pub $T);

        impl $Name {
            $(
                #[doc = concat!("`", $name, "`")]
                pub const $CONST: Self = Self($value);
            )*

            /// All values with a name.
            pub const NAMED: &[Self] = &[$(Self::$CONST),*];

            /// The name, if the value has one.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$CONST => Some($name),)*
                    _ => None,
                }
            }
        }

        $crate::wire::names::impl_value!($Name($T));

        impl core::fmt::Display for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "0x{:0width$x}", self.0, width = size_of::<$T>().saturating_mul(2)),
                }
            }
        }
    )+};
}
pub(crate) use values;

/// A number of which some bits have names.
macro_rules! flags {
    ($(
        $(#[$doc:meta])*
        pub struct $Name:ident($T:ty) { $($CONST:ident = $value:literal $name:literal,)* }
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $Name(pub $T);

        impl $Name {
            /// No bit.
            pub const NONE: Self = Self(0);
            $(
                #[doc = concat!("`", $name, "`")]
                pub const $CONST: Self = Self($value);
            )*
            /// The bits with a name.
            const NAMED: &[(Self, &str)] = &[$((Self::$CONST, $name)),*];

            /// Whether all bits of `other` are set.
            #[must_use]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// With the bits of `other`, or without them.
            #[must_use]
            pub const fn with(self, other: Self, is_set: bool) -> Self {
                Self(if is_set { self.0 | other.0 } else { self.0 & !other.0 })
            }

            /// The names of the bits that are set, without those that have none.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                Self::NAMED.iter().filter(move |(bit, _)| self.contains(*bit)).map(|(_, name)| *name)
            }

            /// The bits without a name.
            #[must_use]
            pub fn unknown(self) -> $T {
                Self::NAMED.iter().fold(self.0, |left, (bit, _)| left & !bit.0)
            }
        }

        $crate::wire::names::impl_value!($Name($T));

        impl core::ops::BitOr for $Name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl core::fmt::Display for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let mut between = "";
                for name in self.names() {
                    f.write_str(between)?;
                    f.write_str(name)?;
                    between = " | ";
                }
                match self.unknown() {
                    0 if between.is_empty() => f.write_str("none"),
                    0 => Ok(()),
                    bits => write!(f, "{between}0x{bits:0width$x}", width = size_of::<$T>().saturating_mul(2)),
                }
            }
        }
    )+};
}
pub(crate) use flags;

macro_rules! impl_value {
    ($Name:ident($T:ty)) => {
        impl $crate::wire::field::Value for $Name {
            const SIZE: usize = size_of::<$T>();

            #[inline]
            fn read(bytes: &[u8]) -> Option<Self> {
                <$T as $crate::wire::field::Value>::read(bytes).map(Self)
            }

            #[inline]
            fn write(self, bytes: &mut [u8]) -> Option<()> {
                $crate::wire::field::Value::write(self.0, bytes)
            }
        }

        impl core::fmt::Debug for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{}({self})", stringify!($Name))
            }
        }
    };
}
pub(crate) use impl_value;
