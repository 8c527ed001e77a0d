//! Names and byte ranges of fields, defined once for each message.

use super::{Field, WireError};

/// The fields of one message, without gaps and in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(super) first: Field,
    pub(super) rest: &'static [Field],
}

impl Layout {
    /// All fields in wire order, reserved ones included.
    pub fn fields(&'static self) -> impl Iterator<Item = &'static Field> + Clone {
        core::iter::once(&self.first).chain(self.rest)
    }

    /// The error for a message at `base` of a buffer of which only `got` bytes are there: it names the
    /// first field that is not complete.
    #[cold]
    #[inline(never)]
    pub(super) fn truncated(&'static self, base: usize, got: usize) -> WireError {
        let present = got.saturating_sub(base);
        let field = self
            .rest
            .iter()
            .fold(&self.first, |missing, next| if missing.range.end <= present { next } else { missing });
        let offset = base.saturating_add(field.range.start);
        WireError::Truncated { field, offset, needed: field.range.len(), got }
    }

    /// The error for an output buffer that is too small.
    #[cold]
    #[inline(never)]
    pub(super) fn no_room(&'static self, needed: usize, got: usize) -> WireError {
        let Field { message, section, .. } = self.first;
        WireError::NoRoom { message, section, needed, got }
    }
}

/// Writes down a message's fields once, as `field::NAME` ranges and as `LAYOUT`.
macro_rules! layout {
    ($message:literal, $section:literal:
     $first:ident = $first_name:literal at $first_range:expr;
     $($field:ident = $name:literal at $range:expr;)+) => {
        #[doc = concat!("Byte ranges of the fields (", $section, ").")]
        pub mod field {
            use core::ops::Range;
            #[doc = concat!("`", $first_name, "`.")]
            pub const $first: Range<usize> = $first_range;
            $(#[doc = concat!("`", $name, "`.")]
            pub const $field: Range<usize> = $range;)+
        }

        #[doc = concat!("Names and places of the fields (", $section, ").")]
        pub static LAYOUT: $crate::wire::Layout = $crate::wire::Layout {
            first: $crate::wire::Field {
                message: $message, section: $section, name: $first_name, range: field::$first,
            },
            rest: &[$($crate::wire::Field {
                message: $message, section: $section, name: $name, range: field::$field,
            }),+],
        };
    };
}
pub(super) use layout;
