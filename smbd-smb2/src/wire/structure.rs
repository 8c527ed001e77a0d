//! Bodies, each written down once: the fields of a fixed part, and the parts that fields point to.

/// A body of fields, and of parts whose places are in fields.
macro_rules! message {
    (
        $(#[$doc:meta])*
        pub struct $Name:ident $(<$life:lifetime>)?: $Command:ident $direction:ident;
        pub mod $module:ident: $message:literal, $section:literal, size $size:literal, least $least:literal;
        fields { $($(#[$field_doc:meta])* $field:ident: $T:ty = $FIELD:ident $name:literal at $at:literal;)* }
        reserved { $($RESERVED:ident: $R:ty = $reserved_name:literal at $reserved_at:literal;)* }
        parts { $(
            $(#[$part_doc:meta])*
            $part:ident: $P:ty, align $align:literal, if empty $empty:ident $(when $condition:ident)? =
                $OFFSET:ident: $O:ty = $offset_name:literal at $offset_at:literal,
                $LENGTH:ident: $L:ty = $length_name:literal at $length_at:literal;
        )* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $Name $(<$life>)? {
            $($(#[$field_doc])* pub $field: $T,)*
            $($(#[$part_doc])* pub $part: $P,)*
        }

        $crate::wire::layout::layout! {
            #[doc = concat!("Fields of ", $message, " (", $section, "), from the beginning of the SMB2 header.")]
            pub mod $module: $message, $section, from $crate::wire::header::LEN;
            STRUCTURE_SIZE: u16 = "StructureSize" at 0;
            $($FIELD: $T = $name at $at;)*
            $($RESERVED: $R = $reserved_name at $reserved_at;)*
            $($OFFSET: $O = $offset_name at $offset_at; $LENGTH: $L = $length_name at $length_at;)*
        }

        impl $(<$life>)? $Name $(<$life>)? {
            /// StructureSize of the body.
            pub const STRUCTURE_SIZE: u16 = $size;

            /// Reads the body of an element, which begins with its SMB2 header.
            ///
            /// # Errors
            /// The fixed part is not complete, StructureSize is another, or a part does not lie behind the fixed part and
            /// inside the element.
            pub fn parse(element: & $($life)? [u8]) -> Result<Self, $crate::wire::WireError> {
                $module::LAYOUT.check(element)?;
                // Of a length that is known, so that no field is looked for in vain.
                let Some(fixed) = element.first_chunk::<{ $module::LAYOUT.end() }>() else {
                    return Err($module::STRUCTURE_SIZE.truncated(element.len()));
                };
                $module::STRUCTURE_SIZE.expect(fixed, Self::STRUCTURE_SIZE)?;
                Ok(Self {
                    $($field: $module::$FIELD.get(fixed)?,)*
                    $($part: $crate::wire::reader::part(
                        element,
                        (&$module::$OFFSET, &$module::$LENGTH),
                        &$module::LAYOUT,
                    )?.into(),)*
                })
            }
        }

        impl $(<$life>)? $Name $(<$life>)? {
            /// Writes the fixed part over zeros: all but where the parts are.
            #[inline(always)]
            pub(crate) fn fill(
                &self,
                fixed: &mut [u8; $module::LAYOUT.end()],
            ) -> Result<(), $crate::wire::WireError> {
                $module::STRUCTURE_SIZE.set(fixed, Self::STRUCTURE_SIZE)?;
                $($module::$FIELD.set(fixed, self.$field)?;)*
                Ok(())
            }
        }

        impl $(<$life>)? $crate::wire::body::Body for $Name $(<$life>)? {
            #[inline(always)]
            fn put(&self, out: &mut $crate::wire::writer::Writer<'_>) -> Result<(), $crate::wire::WireError> {
                // Of a length that is known, so that no field is looked for in vain.
                let mut fixed = [0; $module::LAYOUT.end()];
                self.fill(&mut fixed)?;
                out.append(fixed.get($crate::wire::header::LEN..).unwrap_or_default());
                $(out.part(
                    (&$module::$OFFSET, &$module::$LENGTH),
                    $align,
                    $crate::wire::writer::Empty::$empty$(.only_if(self.$condition()))?,
                    &self.$part,
                )?;)*
                out.fill($module::LAYOUT.end().saturating_add($least));
                Ok(())
            }
        }

        $crate::wire::structure::role!($Name $(<$life>)?: $Command $direction);
    };
}
pub(super) use message;

/// The command of a body, and who sends it.
macro_rules! role {
    ($Name:ident $(<$life:lifetime>)?: $Command:ident request) => {
        $crate::wire::structure::role!(@ $Name $(<$life>)?: $Command, false);
    };
    ($Name:ident $(<$life:lifetime>)?: $Command:ident response) => {
        $crate::wire::structure::role!(@ $Name $(<$life>)?: $Command, true);
    };
    (@ $Name:ident $(<$life:lifetime>)?: $Command:ident, $is_response:literal) => {
        impl $(<$life>)? $crate::wire::body::CommandBody for $Name $(<$life>)? {
            const COMMAND: $crate::wire::command::Command = $crate::wire::command::Command::$Command;
            const IS_RESPONSE: bool = $is_response;
        }
    };
}
pub(super) use role;
