//! What is done to a subject to make it wrong: small values, carried out by `tests/suite/wrong`.

use serde::Deserialize;

/// One thing that is done to everything a subject says, hears, ends, moves or tells. Connections and messages are counted from 0,
/// times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Its messages, on their way to the script.
    Says(Which, Act),
    /// The script's messages, on their way to it.
    Hears(Which, Act),
    /// It says something more, so long after such a message of the script.
    Speaks(Which, u64, Extra),
    /// It says something more, so long after the transport connection has come up.
    SpeaksFirst(u64, Extra),
    /// It says something more, directly behind such a message of its own.
    Follows(Which, Extra),
    /// It ends the connection, so long after such a message of the script.
    Ends(Which, u64),
    /// It ends the connection, so long after the transport connection has come up.
    EndsBy(u64),
    /// Its connections end so long after they should.
    EndsLate(u64),
    /// Its connections never end.
    Stays,
    /// The transport connection does not come up.
    Refuses,
    /// What its messages invalidate.
    Invalidates(Invalidated),
    /// What it has written is not what is in the script's memory.
    Writes(Bytes),
    /// Its transport connection has no private data.
    NoPrivateData,
    /// A word of 32 bits of its private data, most significant byte first, has this value.
    PrivateData(usize, u32),
    /// The same of the script's, where there is any, as the subject reads it.
    HearsPrivateData(usize, u32),
    /// The depth of RDMA Reads agreed with its device is this, whatever the script's serves.
    ReadDepth(u16),
    /// What its upper layer is told.
    Tells(Event, Telling),
    /// What its upper layer commands.
    Commands(Command),
    /// Something that is done only from this connection on.
    From(usize, Box<Change>),
    /// Something that is done on this connection only.
    Only(usize, Box<Change>),
}

/// Some messages of one side.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Which {
    /// The one of the negotiation.
    First,
    /// A response that does not accept.
    Refusal,
    /// All behind the negotiation.
    Transfer,
    /// Those with payload.
    Data,
    /// Those without payload.
    Empty,
    /// Those that ask for an answer.
    Asking,
    /// The first one behind a message of the other side that asks for an answer.
    Answer,
    /// The last fragment of a message that has several.
    Last,
    /// Those that are not the last fragment of their message.
    Unfinished,
    /// Those that leave their sender without a credit.
    LastCredit,
    /// Those longer than so many bytes.
    Longer(usize),
    /// Those of so many bytes.
    Bytes(usize),
    /// Those in which a field has this value.
    Has(Field, u32),
    /// Those that come so long after the last message of the other side, or later.
    After(u64),
    /// The one with this number among such, from 1 on.
    Nth(u32, Box<Which>),
    /// The one with this number among such, and all behind it.
    Since(u32, Box<Which>),
    /// What each of these is.
    All(Vec<Which>),
    /// What this is not.
    Not(Box<Which>),
}

/// What is done to a message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// A field gets this value.
    Set(Field, u32),
    /// A field gets this much more, or less; it wraps.
    Add(Field, i64),
    /// A field is 1 at most, or this.
    AtMost(Field, u32),
    /// A field has its most significant byte first.
    Reverse(Field),
    /// Two fields of the same length have each other's value.
    Exchange(Field, Field),
    /// This bit pattern is flipped in a byte of the payload; in one from its end if the number is negative.
    FlipPayload(i64, u8),
    /// It has so many bytes at most.
    Cut(usize),
    /// So many bytes of this value follow.
    Grow(usize, u8),
    /// The payload begins 4 bytes later.
    Pad,
    /// The payload begins 4 bytes earlier, and DataOffset says nothing of it.
    Unpad,
    /// The payload comes in two messages instead of one.
    Halve,
    /// It is lost.
    Drop,
    /// It comes twice.
    Repeat,
    /// It comes so much later, and all behind it, too.
    Late(u64),
    /// It comes behind the next ones, so many.
    Behind(usize),
    /// What it asks `smbd_tools::exercise` for is something else.
    Ask(Asked),
}

/// A field of a message, by its name in MS-SMBD; of whatever message it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Field {
    /// 2.2.1, 2.2.2.
    MinVersion,
    /// 2.2.1, 2.2.2.
    MaxVersion,
    /// 2.2.2.
    NegotiatedVersion,
    /// 2.2.1, 2.2.2, 2.2.3.
    Reserved,
    /// 2.2.1, 2.2.2, 2.2.3.
    CreditsRequested,
    /// 2.2.2, 2.2.3.
    CreditsGranted,
    /// 2.2.2.
    Status,
    /// 2.2.2.
    MaxReadWriteSize,
    /// 2.2.1, 2.2.2.
    PreferredSendSize,
    /// 2.2.1, 2.2.2.
    MaxReceiveSize,
    /// 2.2.1, 2.2.2.
    MaxFragmentedSize,
    /// 2.2.3.
    Flags,
    /// 2.2.3.
    RemainingDataLength,
    /// 2.2.3.
    DataOffset,
    /// 2.2.3.
    DataLength,
    /// 2.2.3: the 4 bytes behind the header of a message with payload.
    Padding,
}

impl Field {
    /// Where it begins in a request, a response and a Data Transfer message, and how many bytes it has; `None` where it is not.
    #[must_use]
    pub const fn places(self) -> [Option<(usize, usize)>; 3] {
        match self {
            Self::MinVersion => [Some((0, 2)), Some((0, 2)), None],
            Self::MaxVersion => [Some((2, 2)), Some((2, 2)), None],
            Self::NegotiatedVersion => [None, Some((4, 2)), None],
            Self::Reserved => [Some((4, 2)), Some((6, 2)), Some((6, 2))],
            Self::CreditsRequested => [Some((6, 2)), Some((8, 2)), Some((0, 2))],
            Self::CreditsGranted => [None, Some((10, 2)), Some((2, 2))],
            Self::Status => [None, Some((12, 4)), None],
            Self::MaxReadWriteSize => [None, Some((16, 4)), None],
            Self::PreferredSendSize => [Some((8, 4)), Some((20, 4)), None],
            Self::MaxReceiveSize => [Some((12, 4)), Some((24, 4)), None],
            Self::MaxFragmentedSize => [Some((16, 4)), Some((28, 4)), None],
            Self::Flags => [None, None, Some((4, 2))],
            Self::RemainingDataLength => [None, None, Some((8, 4))],
            Self::DataOffset => [None, None, Some((12, 4))],
            Self::DataLength => [None, None, Some((16, 4))],
            Self::Padding => [None, None, Some((20, 4))],
        }
    }
}

/// A message that no rule asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extra {
    /// An empty Data Transfer message that grants nothing.
    Empty,
    /// The same, asking for an answer.
    Probe,
    /// A byte of payload.
    Data,
    /// A good Negotiate Request.
    Request,
    /// A good Negotiate Response.
    Response,
    /// A Negotiate Response that refuses.
    Refusal,
}

/// What a request of the script to `smbd_tools::exercise` is for the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// Its range begins a byte later, and is as long.
    Later,
    /// Its range has a byte less.
    Shorter,
    /// Its range is in the descriptors without the first byte of the first.
    Skips,
    /// Its descriptors come in the order of their memory.
    Sorted,
    /// Its last descriptor is missing.
    OneDescriptor,
    /// What is written is another pattern.
    OtherBytes,
    /// It is for reading and writing, whatever was asked for.
    AllRights,
    /// It is for the other right.
    OtherRight,
    /// It is for a byte more.
    Longer,
    /// It invalidates nothing.
    NoToken,
    /// Nothing is deregistered, and that is answered as done.
    Keeps,
}

/// What a message invalidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Invalidated {
    /// Nothing.
    Nothing,
    /// Another token.
    Another,
    /// What one message invalidates, the next does, too.
    Twice,
    /// It is the next message that does.
    Later,
}

/// Bytes of the script that the subject has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bytes {
    /// They begin one byte later.
    Later,
    /// One byte is another.
    OneOther,
    /// The last one is not there.
    Fewer,
    /// They are not there.
    NotYet,
}

/// Something that an upper layer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// There is a connection.
    Established,
    /// It did not come about.
    ConnectFailed,
    /// A message.
    Message,
    /// A token was invalidated.
    Invalidated,
    /// A message was sent, or not.
    Sent,
    /// An RDMA operation ended.
    RdmaDone,
    /// A registration is valid, or not.
    Registered,
    /// A registration is gone, or not.
    Deregistered,
    /// A connection ended.
    Closed,
    /// Nothing is left.
    Drained,
}

/// How it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Telling {
    /// Not at all.
    Never,
    /// Twice.
    Twice,
    /// In the reverse order.
    Reversed,
    /// As a success.
    Good,
    /// As a failure.
    Bad,
    /// With another reason, size, token or payload.
    Otherwise,
    /// As an established connection's end, or as that of one that never was.
    AsTheOther,
    /// So much later.
    Late(u64),
    /// Before anything happens.
    Early,
}

/// A command that comes out as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A message that is refused is taken.
    TakesAll,
    /// A message is refused that should be taken.
    RefusesAll,
    /// A message invalidates nothing.
    NoToken,
    /// Memory is registered for reading and writing.
    AllRights,
    /// A registration is not taken back.
    KeepsOpen,
}
