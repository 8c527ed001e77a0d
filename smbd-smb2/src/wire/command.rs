//! Commands (2.2.1.2).

use super::names::values;

values! {
    /// A command (2.2.1.2).
    pub struct Command(u16) {
        NEGOTIATE = 0x0000 "NEGOTIATE",
        SESSION_SETUP = 0x0001 "SESSION_SETUP",
        LOGOFF = 0x0002 "LOGOFF",
        TREE_CONNECT = 0x0003 "TREE_CONNECT",
        TREE_DISCONNECT = 0x0004 "TREE_DISCONNECT",
        CREATE = 0x0005 "CREATE",
        CLOSE = 0x0006 "CLOSE",
        FLUSH = 0x0007 "FLUSH",
        READ = 0x0008 "READ",
        WRITE = 0x0009 "WRITE",
        LOCK = 0x000A "LOCK",
        IOCTL = 0x000B "IOCTL",
        CANCEL = 0x000C "CANCEL",
        ECHO = 0x000D "ECHO",
        QUERY_DIRECTORY = 0x000E "QUERY_DIRECTORY",
        CHANGE_NOTIFY = 0x000F "CHANGE_NOTIFY",
        QUERY_INFO = 0x0010 "QUERY_INFO",
        SET_INFO = 0x0011 "SET_INFO",
        OPLOCK_BREAK = 0x0012 "OPLOCK_BREAK",
        SERVER_TO_CLIENT_NOTIFICATION = 0x0013 "SERVER_TO_CLIENT_NOTIFICATION",
    }
}
