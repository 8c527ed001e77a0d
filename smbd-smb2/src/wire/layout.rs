//! Fields of a structure, written down once.

use super::error::WireError;
use super::place::Place;

/// The fixed part of a structure: all of its fields, reserved ones included.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The fields, in no certain order.
    pub(crate) fields: &'static [&'static Place],
}

impl Layout {
    /// The fields, without gaps between them, but in no certain order.
    pub fn fields(&self) -> impl Iterator<Item = &'static Place> + Clone {
        self.fields.iter().copied()
    }

    /// Where the last field ends, in bytes: from the beginning of the SMB2 header, or of the structure if it is no message.
    #[must_use]
    pub fn end(&self) -> usize {
        self.fields().map(Place::end).max().unwrap_or_default()
    }

    /// Refuses bytes that end before the fixed part does, with the first field that is not complete.
    pub(crate) fn check(&self, bytes: &[u8]) -> Result<(), WireError> {
        let missing = self.fields().filter(|field| field.end() > bytes.len());
        match missing.min_by_key(|field| field.at) {
            Some(field) => Err(WireError::Truncated { field, got: bytes.len() as u64 }),
            None => Ok(()),
        }
    }
}

/// A module with a structure's fields, which begins at `$base` of the bytes that hold it.
macro_rules! layout {
    (
        $(#[$doc:meta])*
        pub mod $module:ident: $message:literal, $section:literal, from $base:expr;
        $($FIELD:ident: $T:ty = $name:literal at $at:literal;)*
    ) => {
        $(#[$doc])*
        pub mod $module {
            #[allow(unused_imports, reason = "types of fields are those of the parent")]
            use super::*;
            use $crate::wire::field::Field;
            use $crate::wire::layout::Layout;

            $(
                #[doc = concat!("`", $name, "`, ", $section, ".")]
                pub static $FIELD: Field<$T> =
                    Field::new($message, $section, $name, usize::saturating_add($base, $at));
            )*
            /// All fields of the fixed part.
            pub static LAYOUT: Layout = Layout { fields: &[$($FIELD.place()),*] };
        }
    };
}
pub(crate) use layout;
