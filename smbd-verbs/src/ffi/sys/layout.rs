//! The declarations, both those of `rdma-sys` and those for docs.rs, against the installed headers: a C program says
//! how large structures are, where fields are and what constants are.

use std::{
    collections::BTreeMap,
    env, fs,
    io::Write,
    mem::offset_of,
    process::{Command, Stdio},
};

use super::declared;
use crate::ffi::consts;

/// Names of C with the value of it in C (an expression) and in Rust.
type Table = Vec<(String, String, u64)>;

/// `structure { field, field = "name in C" }`, for each module of declarations.
macro_rules! structures {
    ($($name:ident { $($field:ident $(= $in_c:literal)?),* $(,)? })*) => {
        fn structures(bindings: bool) -> Table {
            let mut table = Table::new();
            $({
                let c = concat!("struct ", stringify!($name));
                let (size, align) = if bindings {
                    (size_of::<rdma_sys::$name>(), align_of::<rdma_sys::$name>())
                } else {
                    (size_of::<declared::$name>(), align_of::<declared::$name>())
                };
                table.push((format!("size of {c}"), format!("sizeof({c})"), size as u64));
                table.push((format!("alignment of {c}"), format!("_Alignof({c})"), align as u64));
                $({
                    let offset = if bindings {
                        offset_of!(rdma_sys::$name, $field)
                    } else {
                        offset_of!(declared::$name, $field)
                    };
                    #[allow(unused_mut, unused_assignments, reason = "most fields are called the same in C")]
                    let mut field = stringify!($field);
                    $(field = $in_c;)?
                    table.push((format!("offset of {c}.{field}"), format!("offsetof({c}, {field})"), offset as u64));
                })*
            })*
            table
        }
    };
}
structures! {
    ibv_device { node_type, transport_type, name }
    ibv_context { device, cmd_fd, async_fd, abi_compat }
    verbs_context { query_port, modify_cq, query_device_ex, sz, context }
    ibv_device_attr {
        max_mr_size, vendor_id, vendor_part_id, max_qp_wr, device_cap_flags, max_sge, max_sge_rd, max_cqe,
        max_qp_rd_atom, max_qp_init_rd_atom, max_mw,
    }
    ibv_device_attr_ex { orig_attr }
    ibv_port_attr { link_layer }
    ibv_modify_cq_attr { attr_mask, moderate }
    ibv_moderate_cq { cq_count, cq_period }
    ibv_pd { context }
    ibv_mr { context, pd, lkey, rkey }
    ibv_mw { rkey }
    ibv_comp_channel { fd }
    ibv_cq { context }
    ibv_qp {}
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
    rdma_addr { src_addr_union = "src_addr", dst_addr_union = "dst_addr" }
    rdma_route { addr }
    rdma_cm_id { verbs, channel, qp, route, port_num }
    rdma_conn_param {
        private_data, private_data_len, responder_resources, initiator_depth, flow_control, retry_count,
        rnr_retry_count, srq, qp_num,
    }
    rdma_cm_event { id, listen_id, event, status, param }
}

/// `module::NAME` and `newtype::NAME.0`, for each module of declarations.
macro_rules! constants {
    (numbers { $($module:ident: $($name:ident),+;)* } bits { $($type:ident: $($bit:ident),+;)* }) => {
        fn constants(bindings: bool) -> Table {
            let mut table = Table::new();
            let mut add = |name: &str, value: i64| table.push((name.into(), name.into(), value.unsigned_abs()));
            $($(add(
                stringify!($name),
                if bindings { rdma_sys::$module::$name.into() } else { declared::$module::$name.into() },
            );)+)*
            $($(add(
                stringify!($bit),
                if bindings { rdma_sys::$type::$bit.0.into() } else { declared::$type::$bit.0.into() },
            );)+)*
            add(
                "IBV_EVENT_COMM_EST",
                if bindings {
                    rdma_sys::ibv_event_type::IBV_EVENT_COMM_EST as i64
                } else {
                    declared::ibv_event_type::IBV_EVENT_COMM_EST as i64
                },
            );
            table
        }
    };
}
constants! {
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

/// Parts of unions and constants that the macros above do not reach.
fn own() -> Table {
    let offsets = [
        (
            "offsetof(struct ibv_send_wr, wr.rdma.rkey)",
            offset_of!(rdma_sys::ibv_send_wr, wr) + offset_of!(rdma_sys::rdma_t, rkey),
        ),
        (
            "offsetof(struct ibv_send_wr, bind_mw.rkey)",
            offset_of!(rdma_sys::ibv_send_wr, bind_mw_tso_union) + offset_of!(rdma_sys::bind_mw_t, rkey),
        ),
        (
            "offsetof(struct ibv_send_wr, bind_mw.bind_info)",
            offset_of!(rdma_sys::ibv_send_wr, bind_mw_tso_union) + offset_of!(rdma_sys::bind_mw_t, bind_info),
        ),
    ];
    let constants = [
        ("IBV_LINK_LAYER_ETHERNET", i64::from(consts::IBV_LINK_LAYER_ETHERNET)),
        ("RDMA_OPTION_ID", consts::RDMA_OPTION_ID.into()),
        ("RDMA_OPTION_ID_TOS", consts::RDMA_OPTION_ID_TOS.into()),
        ("RDMA_OPTION_ID_REUSEADDR", consts::RDMA_OPTION_ID_REUSEADDR.into()),
        ("RDMA_OPTION_ID_AFONLY", consts::RDMA_OPTION_ID_AFONLY.into()),
        ("RDMA_OPTION_ID_ACK_TIMEOUT", consts::RDMA_OPTION_ID_ACK_TIMEOUT.into()),
    ];
    let offsets = offsets.map(|(name, value)| (name.to_owned(), name.to_owned(), value as u64));
    let constants = constants.map(|(name, value)| (name.to_owned(), name.to_owned(), value.unsigned_abs()));
    offsets.into_iter().chain(constants).collect()
}

/// Compiles and runs a C program that prints each of `table`.
fn ask_c(table: &Table) -> BTreeMap<String, u64> {
    let lines: String = table
        .iter()
        .map(|(name, c, _)| format!("printf(\"%s=%llu\\n\", \"{name}\", (unsigned long long)({c}));\n"))
        .collect();
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
    let text = String::from_utf8(output.stdout).expect("names and numbers");
    text.lines()
        .filter_map(|line| line.rsplit_once('='))
        .map(|(name, value)| (name.to_owned(), value.parse().expect("a number")))
        .collect()
}

#[test]
fn the_declarations_are_those_of_c() {
    let bindings: Table = [structures(true), constants(true), own()].concat();
    let declared: Table = [structures(false), constants(false)].concat();
    let c = ask_c(&bindings);
    assert_eq!(c.len(), bindings.len(), "each name once");
    let all = [("rdma-sys", bindings), ("ffi::sys::declared", declared)];
    let wrong: Vec<String> = all
        .iter()
        .flat_map(|(who, table)| table.iter().map(move |(name, _, value)| (who, name, value)))
        .filter(|(_, name, value)| c.get(*name) != Some(value))
        .map(|(who, name, value)| format!("{name}: {value} in {who}, {:?} in C", c.get(name)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
