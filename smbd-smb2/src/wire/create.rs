//! CREATE (2.2.13, 2.2.14): opens a file, a directory or a pipe.

use super::access::AccessMask;
use super::attributes::FileAttributes;
use super::create_context::CreateContexts;
use super::id::FileId;
use super::names::{flags, values};
use super::oplock::OplockLevel;
use super::structure::message;
use super::text::Text;

values! {
    /// How far a server may act for the user (2.2.13).
    pub struct ImpersonationLevel(u32) {
        ANONYMOUS = 0x0000_0000 "anonymous",
        IDENTIFICATION = 0x0000_0001 "identification",
        IMPERSONATION = 0x0000_0002 "impersonation",
        DELEGATE = 0x0000_0003 "delegate",
    }

    /// What happens if there is such a file, or none (2.2.13).
    pub struct CreateDisposition(u32) {
        SUPERSEDE = 0x0000_0000 "SUPERSEDE",
        OPEN = 0x0000_0001 "OPEN",
        CREATE = 0x0000_0002 "CREATE",
        OPEN_IF = 0x0000_0003 "OPEN_IF",
        OVERWRITE = 0x0000_0004 "OVERWRITE",
        OVERWRITE_IF = 0x0000_0005 "OVERWRITE_IF",
    }

    /// What was done (2.2.14).
    pub struct CreateAction(u32) {
        SUPERSEDED = 0x0000_0000 "SUPERSEDED",
        OPENED = 0x0000_0001 "OPENED",
        CREATED = 0x0000_0002 "CREATED",
        OVERWRITTEN = 0x0000_0003 "OVERWRITTEN",
    }
}

flags! {
    /// What others may do with the file at the same time (2.2.13).
    pub struct ShareAccess(u32) {
        READ = 0x0000_0001 "READ",
        WRITE = 0x0000_0002 "WRITE",
        DELETE = 0x0000_0004 "DELETE",
    }

    /// Options of a CREATE (2.2.13).
    pub struct CreateOptions(u32) {
        DIRECTORY_FILE = 0x0000_0001 "DIRECTORY_FILE",
        WRITE_THROUGH = 0x0000_0002 "WRITE_THROUGH",
        SEQUENTIAL_ONLY = 0x0000_0004 "SEQUENTIAL_ONLY",
        NO_INTERMEDIATE_BUFFERING = 0x0000_0008 "NO_INTERMEDIATE_BUFFERING",
        SYNCHRONOUS_IO_ALERT = 0x0000_0010 "SYNCHRONOUS_IO_ALERT",
        SYNCHRONOUS_IO_NONALERT = 0x0000_0020 "SYNCHRONOUS_IO_NONALERT",
        NON_DIRECTORY_FILE = 0x0000_0040 "NON_DIRECTORY_FILE",
        COMPLETE_IF_OPLOCKED = 0x0000_0100 "COMPLETE_IF_OPLOCKED",
        NO_EA_KNOWLEDGE = 0x0000_0200 "NO_EA_KNOWLEDGE",
        OPEN_REMOTE_INSTANCE = 0x0000_0400 "OPEN_REMOTE_INSTANCE",
        RANDOM_ACCESS = 0x0000_0800 "RANDOM_ACCESS",
        DELETE_ON_CLOSE = 0x0000_1000 "DELETE_ON_CLOSE",
        OPEN_BY_FILE_ID = 0x0000_2000 "OPEN_BY_FILE_ID",
        OPEN_FOR_BACKUP_INTENT = 0x0000_4000 "OPEN_FOR_BACKUP_INTENT",
        NO_COMPRESSION = 0x0000_8000 "NO_COMPRESSION",
        OPEN_REQUIRING_OPLOCK = 0x0001_0000 "OPEN_REQUIRING_OPLOCK",
        DISALLOW_EXCLUSIVE = 0x0002_0000 "DISALLOW_EXCLUSIVE",
        RESERVE_OPFILTER = 0x0010_0000 "RESERVE_OPFILTER",
        OPEN_REPARSE_POINT = 0x0020_0000 "OPEN_REPARSE_POINT",
        OPEN_NO_RECALL = 0x0040_0000 "OPEN_NO_RECALL",
        OPEN_FOR_FREE_SPACE_QUERY = 0x0080_0000 "OPEN_FOR_FREE_SPACE_QUERY",
    }

    /// Flags of a CREATE Response (2.2.14).
    pub struct CreateFlags(u8) {
        REPARSEPOINT = 0x01 "REPARSEPOINT",
    }
}

message! {
    /// A CREATE Request (2.2.13).
    pub struct CreateRequest<'a>: CREATE request;
    pub mod request: "CREATE Request", "2.2.13", size 57, least 1;
    fields {
        /// The oplock that the client asks for.
        oplock_level: OplockLevel = REQUESTED_OPLOCK_LEVEL "RequestedOplockLevel" at 3;
        /// How far the server may act for the user.
        impersonation_level: ImpersonationLevel = IMPERSONATION_LEVEL "ImpersonationLevel" at 4;
        /// What the client wants to do with it.
        desired_access: AccessMask = DESIRED_ACCESS "DesiredAccess" at 24;
        /// Attributes of a new file.
        file_attributes: FileAttributes = FILE_ATTRIBUTES "FileAttributes" at 28;
        /// What others may do with it.
        share_access: ShareAccess = SHARE_ACCESS "ShareAccess" at 32;
        /// Whether it is opened, made or replaced.
        create_disposition: CreateDisposition = CREATE_DISPOSITION "CreateDisposition" at 36;
        /// Options.
        create_options: CreateOptions = CREATE_OPTIONS "CreateOptions" at 40;
    }
    reserved {
        SECURITY_FLAGS: u8 = "SecurityFlags" at 2;
        SMB_CREATE_FLAGS: u64 = "SmbCreateFlags" at 8;
        RESERVED: u64 = "Reserved" at 16;
    }
    parts {
        /// The path from the share on, without a backslash at the beginning.
        name: Text<'a>, align 8, if empty Place =
            NAME_OFFSET: u16 = "NameOffset" at 44,
            NAME_LENGTH: u16 = "NameLength" at 46;
        /// Contexts.
        contexts: CreateContexts<'a>, align 8, if empty Zero =
            CREATE_CONTEXTS_OFFSET: u32 = "CreateContextsOffset" at 48,
            CREATE_CONTEXTS_LENGTH: u32 = "CreateContextsLength" at 52;
    }
}

impl<'a> CreateRequest<'a> {
    /// A request for a file, a directory or a pipe that nobody else has open at the same time. `name` is the path from the share on, with
    /// backslashes.
    #[must_use]
    pub fn new(name: &'a str, desired_access: AccessMask, create_disposition: CreateDisposition) -> Self {
        Self {
            impersonation_level: ImpersonationLevel::IMPERSONATION,
            desired_access,
            create_disposition,
            name: Text::from(name),
            ..Self::default()
        }
    }
}

message! {
    /// A CREATE Response (2.2.14). Times are FILETIMEs: 100 ns since 1601.
    pub struct CreateResponse<'a>: CREATE response;
    pub mod response: "CREATE Response", "2.2.14", size 89, least 0;
    fields {
        /// The oplock that the client has.
        oplock_level: OplockLevel = OPLOCK_LEVEL "OplockLevel" at 2;
        /// Flags.
        flags: CreateFlags = FLAGS "Flags" at 3;
        /// What was done.
        create_action: CreateAction = CREATE_ACTION "CreateAction" at 4;
        /// When the file was made.
        creation_time: u64 = CREATION_TIME "CreationTime" at 8;
        /// When it was last accessed.
        last_access_time: u64 = LAST_ACCESS_TIME "LastAccessTime" at 16;
        /// When it was last written to.
        last_write_time: u64 = LAST_WRITE_TIME "LastWriteTime" at 24;
        /// When it was last changed.
        change_time: u64 = CHANGE_TIME "ChangeTime" at 32;
        /// Bytes on disk.
        allocation_size: u64 = ALLOCATION_SIZE "AllocationSize" at 40;
        /// Bytes of data.
        end_of_file: u64 = END_OF_FILE "EndofFile" at 48;
        /// Its attributes.
        file_attributes: FileAttributes = FILE_ATTRIBUTES "FileAttributes" at 56;
        /// What names it in later requests.
        file_id: FileId = FILE_ID "FileId" at 64;
    }
    reserved {
        RESERVED2: u32 = "Reserved2" at 60;
    }
    parts {
        /// Contexts.
        contexts: CreateContexts<'a>, align 8, if empty Zero =
            CREATE_CONTEXTS_OFFSET: u32 = "CreateContextsOffset" at 80,
            CREATE_CONTEXTS_LENGTH: u32 = "CreateContextsLength" at 84;
    }
}
