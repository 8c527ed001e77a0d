//! Data of contexts that have a form of their own, each written down once.

use alloc::vec::Vec;

use crate::wire::create_context::field;
use crate::wire::error::WireError;
use crate::wire::layout::Layout;

/// The data of a create context with a form of its own.
pub trait ContextData: Sized {
    /// The name of the context.
    const NAME: &'static [u8];

    /// Reads the data of a context with this name.
    ///
    /// # Errors
    /// They are shorter or longer than the structure.
    fn parse(data: &[u8]) -> Result<Self, WireError>;

    /// The data, to be sent.
    fn to_bytes(&self) -> Vec<u8>;
}

/// Refuses data that are shorter or longer than the structure.
pub(super) fn check(data: &[u8], layout: &Layout) -> Result<(), WireError> {
    layout.check(data)?;
    if data.len() == layout.end() {
        return Ok(());
    }
    let (value, expected) = (data.len() as u64, layout.end() as u64);
    Err(WireError::Value { field: field::DATA_LENGTH.place(), value, expected })
}

/// A structure of fields alone.
macro_rules! context_data {
    (
        $(#[$doc:meta])*
        pub struct $Name:ident: $CONTEXT:ident;
        pub mod $module:ident: $message:literal, $section:literal;
        fields { $($(#[$field_doc:meta])* $field:ident: $T:ty = $FIELD:ident $name:literal at $at:literal;)* }
        reserved { $($RESERVED:ident: $R:ty = $reserved_name:literal at $reserved_at:literal;)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $Name {
            $($(#[$field_doc])* pub $field: $T,)*
        }

        $crate::wire::layout::layout! {
            #[doc = concat!("Fields of ", $message, " (", $section, "), from the beginning of the data.")]
            pub mod $module: $message, $section, from 0;
            $($FIELD: $T = $name at $at;)*
            $($RESERVED: $R = $reserved_name at $reserved_at;)*
        }

        impl $crate::wire::create_context::ContextData for $Name {
            const NAME: &'static [u8] = $crate::wire::create_context::CreateContext::$CONTEXT;

            fn parse(data: &[u8]) -> Result<Self, $crate::wire::WireError> {
                $crate::wire::create_context::data::check(data, &$module::LAYOUT)?;
                Ok(Self { $($field: $module::$FIELD.get(data)?,)* })
            }

            fn to_bytes(&self) -> alloc::vec::Vec<u8> {
                #[allow(unused_mut, reason = "a structure may have reserved fields only")]
                let mut bytes = alloc::vec![0; $module::LAYOUT.end()];
                // The layout ends behind all of its fields.
                $(let _ = $module::$FIELD.set(&mut bytes, self.$field);)*
                bytes
            }
        }
    };
}
pub(super) use context_data;
