//! Compares the declarations, those of `rdma-sys` with that feature and those written by hand, with the installed
//! headers. A C program prints the sizes of structures, the offsets and sizes of fields, the values of constants, and
//! whether functions have the type. Declarations that are equal to C are equal to each other.

use std::{
    any::type_name,
    env, fs,
    io::Write,
    mem::offset_of,
    process::{Command, Stdio},
};

use super::declared;
use crate::ffi::consts;

/// What is asked, in C (an expression), and what it is in Rust.
type Table = Vec<(String, u64)>;

/// How newer headers may go on with a structure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// Not at all.
    None,
    /// With fields behind the last one; the libraries are told the size.
    Up,
    /// With fields before the first one: what counts is how far a field is from the end.
    Down,
}

macro_rules! growth {
    () => {
        Growth::None
    };
    (grows_up) => {
        Growth::Up
    };
    (grows_down) => {
        Growth::Down
    };
}

fn structure(table: &mut Table, name: &str, growth: Growth, size: usize, align: usize) {
    let c = format!("struct {name}");
    if growth == Growth::None {
        table.push((format!("sizeof({c})"), size as u64));
    } else {
        table.push((format!("sizeof({c}) >= {size}"), 1));
    }
    table.push((format!("_Alignof({c})"), align as u64));
}

/// `of` is a field of the structure, to tell its type.
fn field<S, F>(
    table: &mut Table,
    structure: &str,
    field: &str,
    growth: Growth,
    offset: usize,
    _of: fn(&S) -> &F,
) {
    let c = format!("struct {structure}");
    if growth == Growth::Down {
        let from_end = size_of::<S>() - offset;
        table.push((format!("sizeof({c}) - offsetof({c}, {field})"), from_end as u64));
    } else {
        table.push((format!("offsetof({c}, {field})"), offset as u64));
    }
    table.push((format!("sizeof((({c} *)0)->{field})"), size_of::<F>() as u64));
    if let Some(function) = optional(type_name::<F>()).filter(|inner| inner.contains("fn(")) {
        let wanted = function_in_c(function);
        table.push((format!("__builtin_types_compatible_p(__typeof__(*(({c} *)0)->{field}), {wanted})"), 1));
    }
}

/// `_of` is the function `name`, to tell its type.
fn function<F>(table: &mut Table, name: &str, _of: F) {
    let wanted = function_in_c(type_name::<F>());
    table.push((format!("__builtin_types_compatible_p(__typeof__({name}), {wanted})"), 1));
}

/// What is inside of `Option<...>`.
fn optional(rust: &str) -> Option<&str> {
    rust.strip_prefix("core::option::Option<")?.strip_suffix('>')
}

/// A type of Rust, as `type_name` writes it, in C.
fn in_c(rust: &str) -> String {
    if let Some(to) = optional(rust) {
        return in_c(to);
    }
    if let Some((kind, to)) = rust.strip_prefix('*').and_then(|pointer| pointer.split_once(' ')) {
        let constant = if kind == "const" { "const " } else { "" };
        // Single bytes behind pointers are text; `c_char` is another type on each kind of machine.
        let to = if matches!(to, "i8" | "u8") { "char".to_owned() } else { in_c(to) };
        return format!("{constant}{to} *");
    }
    match rust.rsplit("::").next().unwrap_or_default() {
        "()" | "c_void" => "void".to_owned(),
        "i32" => "int".to_owned(),
        "u8" => "uint8_t".to_owned(),
        "u32" => "uint32_t".to_owned(),
        "u64" => "uint64_t".to_owned(),
        "usize" => "size_t".to_owned(),
        "ibv_event_type" => "enum ibv_event_type".to_owned(),
        name => format!("struct {name}"),
    }
}

/// A type of functions, in C.
fn function_in_c(rust: &str) -> String {
    let (_, rest) = rust.split_once("fn(").expect("a function");
    let (arguments, result) = rest.split_once(')').expect("arguments");
    let arguments: Vec<String> = arguments.split(", ").filter(|of| !of.is_empty()).map(in_c).collect();
    let arguments = if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") };
    format!("{} ({arguments})", in_c(result.strip_prefix(" -> ").unwrap_or("()")))
}

/// `structure { field, field = "name in C" }` of a module of declarations.
macro_rules! structures {
    ($table:ident $of:ident $($name:ident $($growth:ident)? { $($field:ident $(= $in_c:literal)?),* $(,)? })*) => {
        $({
            let growth = growth!($($growth)?);
            structure($table, stringify!($name), growth, size_of::<$of::$name>(), align_of::<$of::$name>());
            $({
                #[allow(unused_mut, unused_assignments, reason = "most fields are called the same in C")]
                let mut in_c = stringify!($field);
                $(in_c = $in_c;)?
                let offset = offset_of!($of::$name, $field);
                field($table, stringify!($name), in_c, growth, offset, |of: &$of::$name| &of.$field);
            })*
        })*
    };
}

/// `module::NAME` and `newtype::NAME.0` of a module of declarations.
macro_rules! constants {
    ($table:ident $of:ident
        numbers { $($module:ident: $($name:ident),+;)* } bits { $($type:ident: $($bit:ident),+;)* }) => {
        $($($table.push((stringify!($name).to_owned(), i64::from($of::$module::$name).unsigned_abs()));)+)*
        $($($table.push((stringify!($bit).to_owned(), i64::from($of::$type::$bit.0).unsigned_abs()));)+)*
    };
}

/// `name(_, _)`, a `_` for each argument, of a module of declarations.
macro_rules! functions {
    ($table:ident $of:ident
        exported { $($name:ident($($hole:tt),*),)* } inline { $($inline:ident($($inline_hole:tt),*),)* }) => {
        $(function($table, stringify!($name), $of::$name as unsafe extern "C" fn($($hole),*) -> _);)*
        $(function($table, stringify!($inline), $of::$inline as unsafe fn($($inline_hole),*) -> _);)*
    };
}

/// What is used of structures.
macro_rules! all_structures {
    ($table:ident $of:ident) => {
        structures! { $table $of
            ibv_device { node_type, transport_type, name }
            ibv_context_ops { alloc_mw, dealloc_mw, poll_cq, req_notify_cq, post_send, post_recv }
            ibv_context { device, ops, cmd_fd, async_fd, abi_compat }
            verbs_context grows_down { query_port, modify_cq, query_device_ex, sz, context }
            ibv_device_attr {
                max_mr_size, vendor_id, vendor_part_id, max_qp_wr, device_cap_flags, max_sge, max_sge_rd, max_cqe,
                max_qp_rd_atom, max_qp_init_rd_atom, max_mw,
            }
            ibv_device_attr_ex grows_up { orig_attr }
            ibv_port_attr grows_up { link_layer }
            ibv_modify_cq_attr { attr_mask, moderate }
            ibv_moderate_cq { cq_count, cq_period }
            ibv_pd { context }
            ibv_mr { context, pd, lkey, rkey }
            ibv_mw { context, rkey }
            ibv_comp_channel { fd }
            ibv_cq { context }
            ibv_qp { context }
            ibv_qp_cap { max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data }
            ibv_qp_init_attr { qp_context, send_cq, recv_cq, srq, cap, qp_type, sq_sig_all }
            ibv_qp_attr { qp_state }
            ibv_sge { addr, length, lkey }
            ibv_recv_wr { wr_id, next, sg_list, num_sge }
            ibv_send_wr {
                wr_id, next, sg_list, num_sge, opcode, send_flags,
                imm_data_invalidated_rkey_union = "invalidate_rkey", wr, bind_mw_tso_union = "bind_mw",
            }
            ibv_mw_bind_info { mr, addr, length, mw_access_flags }
            ibv_wc {
                wr_id, status, opcode, vendor_err, byte_len, imm_data_invalidated_rkey_union = "invalidated_rkey", wc_flags,
            }
            ibv_async_event { event_type }
            rdma_event_channel { fd }
            rdma_addr { src_addr_union = "src_storage", dst_addr_union = "dst_storage" }
            rdma_route { addr }
            rdma_cm_id { verbs, channel, qp, route, port_num }
            rdma_conn_param {
                private_data, private_data_len, responder_resources, initiator_depth, flow_control, retry_count,
                rnr_retry_count, srq, qp_num,
            }
            rdma_cm_event { id, listen_id, event, status, param }
        }
    };
}

/// What is used of enumerations.
macro_rules! all_constants {
    ($table:ident $of:ident) => {
        constants! { $table $of
            numbers {
                ibv_wc_status: IBV_WC_SUCCESS;
                ibv_transport_type: IBV_TRANSPORT_IWARP;
                ibv_mw_type: IBV_MW_TYPE_2;
                ibv_qp_type: IBV_QPT_RC;
                ibv_qp_state: IBV_QPS_ERR;
                ibv_wr_opcode: IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_LOCAL_INV, IBV_WR_BIND_MW,
                    IBV_WR_SEND_WITH_INV;
                rdma_port_space: RDMA_PS_TCP;
                rdma_cm_event_type: RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_ERROR, RDMA_CM_EVENT_ROUTE_RESOLVED,
                    RDMA_CM_EVENT_ROUTE_ERROR, RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_CONNECT_ERROR,
                    RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_REJECTED, RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_DISCONNECTED,
                    RDMA_CM_EVENT_DEVICE_REMOVAL, RDMA_CM_EVENT_ADDR_CHANGE, RDMA_CM_EVENT_TIMEWAIT_EXIT;
            }
            bits {
                ibv_access_flags: IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_MW_BIND,
                    IBV_ACCESS_RELAXED_ORDERING;
                ibv_send_flags: IBV_SEND_FENCE, IBV_SEND_SIGNALED, IBV_SEND_SOLICITED, IBV_SEND_INLINE;
                ibv_device_cap_flags: IBV_DEVICE_MEM_WINDOW_TYPE_2A, IBV_DEVICE_MEM_WINDOW_TYPE_2B,
                    IBV_DEVICE_MEM_MGT_EXTENSIONS;
                ibv_qp_attr_mask: IBV_QP_STATE;
                ibv_cq_attr_mask: IBV_CQ_ATTR_MODERATE;
            }
        }
    };
}

/// The functions that are called.
macro_rules! all_functions {
    ($table:ident $of:ident) => {
        functions! { $table $of
            exported {
                ibv_get_device_name(_), ibv_query_device(_, _), ibv_query_port(_, _, _),
                ibv_get_async_event(_, _), ibv_ack_async_event(_), ibv_alloc_pd(_), ibv_dealloc_pd(_),
                ibv_reg_mr_iova2(_, _, _, _, _), ibv_dereg_mr(_), ibv_create_comp_channel(_),
                ibv_destroy_comp_channel(_), ibv_create_cq(_, _, _, _, _), ibv_destroy_cq(_),
                ibv_get_cq_event(_, _, _), ibv_ack_cq_events(_, _), ibv_modify_qp(_, _, _),
                rdma_get_devices(_), rdma_free_devices(_), rdma_create_event_channel(),
                rdma_destroy_event_channel(_), rdma_get_cm_event(_, _), rdma_ack_cm_event(_),
                rdma_create_id(_, _, _, _), rdma_destroy_id(_), rdma_migrate_id(_, _),
                rdma_set_option(_, _, _, _, _), rdma_bind_addr(_, _), rdma_listen(_, _),
                rdma_resolve_addr(_, _, _, _), rdma_resolve_route(_, _), rdma_create_qp(_, _, _),
                rdma_destroy_qp(_), rdma_connect(_, _), rdma_accept(_, _), rdma_reject(_, _, _),
                rdma_notify(_, _), rdma_disconnect(_),
            }
            inline {
                ibv_alloc_mw(_, _), ibv_dealloc_mw(_), ibv_req_notify_cq(_, _), ibv_poll_cq(_, _, _),
                ibv_post_send(_, _, _), ibv_post_recv(_, _, _),
            }
        }
    };
}

/// All of a module of declarations.
macro_rules! declarations {
    ($name:ident of $of:ident) => {
        fn $name() -> Table {
            let mut all = Table::new();
            let table = &mut all;
            all_structures!(table $of);
            all_constants!(table $of);
            all_functions!(table $of);
            let event = $of::ibv_event_type::IBV_EVENT_COMM_EST as u64;
            let (in_wr, in_bind) =
                (offset_of!($of::ibv_send_wr, wr), offset_of!($of::ibv_send_wr, bind_mw_tso_union));
            let rest = [
                ("IBV_EVENT_COMM_EST", event),
                ("offsetof(struct ibv_send_wr, wr.rdma.remote_addr)", (in_wr + offset_of!($of::rdma_t, remote_addr)) as u64),
                ("offsetof(struct ibv_send_wr, wr.rdma.rkey)", (in_wr + offset_of!($of::rdma_t, rkey)) as u64),
                ("offsetof(struct ibv_send_wr, bind_mw.mw)", (in_bind + offset_of!($of::bind_mw_t, mw)) as u64),
                ("offsetof(struct ibv_send_wr, bind_mw.rkey)", (in_bind + offset_of!($of::bind_mw_t, rkey)) as u64),
                (
                    "offsetof(struct ibv_send_wr, bind_mw.bind_info)",
                    (in_bind + offset_of!($of::bind_mw_t, bind_info)) as u64,
                ),
            ];
            table.extend(rest.map(|(c, value)| (c.to_owned(), value)));
            all
        }
    };
}
declarations!(written_out of declared);
#[cfg(feature = "rdma-sys")]
declarations!(bindings of rdma_sys);

/// Constants that neither of them has.
fn own() -> Table {
    let constants = [
        ("IBV_LINK_LAYER_ETHERNET", i64::from(consts::IBV_LINK_LAYER_ETHERNET)),
        ("RDMA_OPTION_ID", consts::RDMA_OPTION_ID.into()),
        ("RDMA_OPTION_ID_TOS", consts::RDMA_OPTION_ID_TOS.into()),
        ("RDMA_OPTION_ID_REUSEADDR", consts::RDMA_OPTION_ID_REUSEADDR.into()),
        ("RDMA_OPTION_ID_AFONLY", consts::RDMA_OPTION_ID_AFONLY.into()),
        ("RDMA_OPTION_ID_ACK_TIMEOUT", consts::RDMA_OPTION_ID_ACK_TIMEOUT.into()),
    ];
    constants.map(|(name, value)| (name.to_owned(), value.unsigned_abs())).into()
}

/// Compiles and runs a C program that prints each of `table`; returns what it said.
fn ask_c(table: &Table) -> Vec<u64> {
    let lines: String =
        table.iter().map(|(c, _)| format!("printf(\"%llu\\n\", (unsigned long long)({c}));\n")).collect();
    let source = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include <infiniband/verbs.h>\n#include <rdma/rdma_cma.h>\n\
         int main(void) {{\n{lines}return 0;\n}}\n"
    );
    let program = env::temp_dir().join(format!("smbd-verbs-layout-{}", std::process::id()));
    let needed = "this needs a C compiler and the headers of rdma-core: apt-get install gcc libibverbs-dev \
                  librdmacm-dev";
    let mut cc = Command::new("cc")
        .args(["-x", "c", "-", "-o"])
        .arg(&program)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cc: {error}; {needed}"));
    cc.stdin.take().expect("piped").write_all(source.as_bytes()).expect("cc reads its input");
    assert!(cc.wait().expect("cc ends").success(), "cc refused the program; {needed}");
    let output = Command::new(&program).output().expect("the program that cc wrote runs");
    fs::remove_file(&program).expect("the program that cc wrote is there");
    let text = String::from_utf8(output.stdout).expect("numbers");
    text.lines().map(|value| value.parse().expect("a number")).collect()
}

#[test]
fn the_declarations_are_those_of_c() {
    let all = [
        ("ffi::consts", own()),
        ("ffi::sys::declared", written_out()),
        #[cfg(feature = "rdma-sys")]
        ("rdma-sys", bindings()),
    ];
    let mut wrong = Vec::new();
    for (who, table) in all {
        let c = ask_c(&table);
        assert_eq!(c.len(), table.len(), "an answer to each question");
        let different = table.iter().zip(c).filter(|((_, rust), c)| rust != c);
        wrong.extend(different.map(|((what, rust), c)| format!("{what}: {rust} in {who}, {c} in C")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_function_that_is_written_out_is_held_against_c() {
    let table = written_out();
    let mut asked: Vec<&str> = table
        .iter()
        .filter_map(|(c, _)| c.strip_prefix("__builtin_types_compatible_p(__typeof__(")?.split(')').next())
        .filter(|name| !name.starts_with('*'))
        .collect();
    let sources = [include_str!("declared/calls.rs"), include_str!("declared/inline.rs")];
    let mut there: Vec<&str> = sources
        .iter()
        .flat_map(|source| source.lines())
        .filter_map(|line| {
            line.trim().strip_prefix("pub ")?.trim_start_matches("unsafe ").strip_prefix("fn ")
        })
        .filter_map(|rest| rest.split('(').next())
        .collect();
    asked.sort_unstable();
    there.sort_unstable();
    assert_eq!(asked, there);
}
