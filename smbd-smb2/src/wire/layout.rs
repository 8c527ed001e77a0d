//! Fields of a structure, written down once.

use super::error::WireError;
use super::place::Place;

/// The fixed part of a structure: all of its fields, reserved ones included.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The fields, in no certain order.
    fields: &'static [&'static Place],
    /// Where the last one ends.
    end: usize,
}

impl Layout {
    /// Worked out once, because every message is held against it.
    pub(crate) const fn new(fields: &'static [&'static Place]) -> Self {
        let (mut rest, mut end) = (fields, 0);
        while let [first, behind @ ..] = rest {
            rest = behind;
            if first.end() > end {
                end = first.end();
            }
        }
        Self { fields, end }
    }

    /// The fields, without gaps between them, but in no certain order.
    pub fn fields(&self) -> impl Iterator<Item = &'static Place> + Clone {
        self.fields.iter().copied()
    }

    /// Where the last field ends, in bytes: from the beginning of the SMB2 header, or of the structure if it is no message.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.end
    }

    /// Refuses bytes that end before the fixed part does, with the first field that is not complete.
    #[inline]
    pub(crate) fn check(&self, bytes: &[u8]) -> Result<(), WireError> {
        if bytes.len() >= self.end { Ok(()) } else { self.missing(bytes) }
    }

    #[cold]
    fn missing(&self, bytes: &[u8]) -> Result<(), WireError> {
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
            pub static LAYOUT: Layout = Layout::new(&[$($FIELD.place()),*]);
        }
    };
}
pub(crate) use layout;
