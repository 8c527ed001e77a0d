//! The client of a run: what it asks for, and what has to come of it.

mod choose;
mod outcome;
mod setup;
mod state;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use smbd_client::Lost;
use smbd_client::drive::Upper;
use smbd_core::Instant;
use smbd_sim::Side;
use smbd_sim::loops::Timer;
use smbd_smb2::client::{BufferId, Client, DataPart, Failure, OperationId, Refused, Reply, SessionHandle};

use crate::memory::Watched;
use crate::mischief::Tap;
use crate::plan::End;
use crate::shared::Shared;
use smbd_testkit::Chance;
use smbd_testkit::{Breach, law};

pub use outcome::check_read;
pub use setup::{PASSWORD, USER};
pub use state::{Claim, File};
use state::{Kept, Running, Todo, Tree, What};

/// After so long something else is tried.
const MOMENT: Duration = Duration::from_micros(50);

pub struct Work<M> {
    shared: Shared,
    chance: Chance,
    tap: Tap,
    memory: BTreeMap<BufferId, M>,
    buffers: u64,
    running: BTreeMap<OperationId, Running>,
    sessions: Vec<Option<SessionHandle>>,
    trees: Vec<Tree>,
    /// Shared with who looks at them when everything is over.
    files: Rc<RefCell<Vec<File>>>,
    todo: VecDeque<Todo>,
    phase: Phase,
    issued: usize,
    entropy: u64,
    thinks_until: Instant,
    timer: Option<Timer>,
    /// Listings that have more to come.
    goes_on: Vec<usize>,
    /// How often in a row nothing could be begun.
    idle: u32,
    is_ended: bool,
    has_failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SetUp,
    Working,
    TearDown,
    Finished,
}

impl<M: Watched> Work<M> {
    pub fn new(shared: &Shared, files: &Rc<RefCell<Vec<File>>>, (chance, tap): (Chance, Tap)) -> Self {
        let mut work = Self {
            shared: shared.clone(),
            chance,
            tap,
            memory: BTreeMap::new(),
            buffers: 0,
            running: BTreeMap::new(),
            sessions: Vec::new(),
            trees: Vec::new(),
            files: Rc::clone(files),
            todo: VecDeque::new(),
            phase: Phase::SetUp,
            issued: 0,
            entropy: 0,
            thinks_until: Instant::ORIGIN,
            timer: None,
            goes_on: Vec::new(),
            idle: 0,
            is_ended: false,
            has_failed: false,
        };
        work.set_up();
        work
    }

    fn judge(&self, result: Result<(), Breach>) {
        self.shared.notes.judge(result);
    }

    /// Whether an operation may fail without a reason that is known here.
    fn is_excused(&self) -> bool {
        self.is_ended || self.shared.plan.mischief.is_some()
    }

    /// An operation has begun, or has not because there is no room for it.
    fn begun(&mut self, begun: Result<OperationId, Refused>, running: Running) -> bool {
        match begun {
            Ok(id) => {
                self.shared.notes.step(|| format!("client: {id:?} begins: {}", brief(&running)));
                let before = self.running.insert(id, running);
                let judged = (|| {
                    law!("one result", before.is_none(), "{id:?} is the name of two operations");
                    Ok(())
                })();
                self.judge(judged);
                self.issued += 1;
                true
            }
            Err(refused) => {
                if let Some(buffer) = running.buffer {
                    self.memory.remove(&buffer);
                }
                self.refused(refused);
                false
            }
        }
    }

    fn refused(&mut self, refused: Refused) {
        let is_full = matches!(refused, Refused::Full(_));
        let is_fine = is_full || self.is_excused() || self.has_failed;
        let judged = (|| {
            law!("results", is_fine, "an operation is refused: {refused}");
            Ok(())
        })();
        self.judge(judged);
        self.has_failed |= !is_full;
    }

    /// Cancels what waits until somebody else does something. Whether there was any.
    fn give_up(&mut self, client: &mut Client, now: Instant) -> bool {
        let waiting = self.running.iter().filter(|(_, running)| running.waits() && !running.is_cancelled);
        let ids: Vec<_> = waiting.map(|(id, _)| *id).collect();
        let cancelled = ids.into_iter().filter(|id| self.cancel(client, now, *id)).count();
        cancelled > 0
    }

    /// Whether the plan, or the device, ends it now.
    fn ends(&mut self) -> Option<Lost> {
        let (notes, plan) = (&self.shared.notes, &self.shared.plan);
        if notes.seen().breach.is_some() {
            return Some(Lost::because("a law is broken"));
        }
        if notes.stage().take_ending(Side::Initiator).is_some() {
            notes.note(|seen| seen.is_asked = true);
            return Some(Lost::because("the devices have it end"));
        }
        if matches!(plan.end, End::ClientCloses | End::ClientVanishes) && self.issued > plan.end_at {
            notes.note(|seen| seen.is_struck = true);
            return Some(Lost::because("the plan has it end"));
        }
        if self.has_failed {
            return Some(Lost::because("it cannot go on"));
        }
        None
    }
}

impl<M: Watched> Upper for Work<M> {
    type Memory = M;
    type Kept = Kept;

    fn begin(&mut self, client: &mut Client, now: Instant, cx: &mut Context<'_>) -> Result<bool, Lost> {
        if let Some(lost) = self.ends() {
            self.shared.notes.step(|| format!("client: closes: {lost}"));
            return Err(lost);
        }
        if client.negotiated().is_none() {
            return Ok(false);
        }
        let busy = self.running.values().filter(|running| !running.waits()).count();
        if self.thinks_until > now {
            let mut timer = self.shared.notes.stage().sleep_until(self.thinks_until);
            let is_due = Pin::new(&mut timer).poll(cx).is_ready();
            self.timer = Some(timer);
            return Ok(is_due);
        }
        if let Some(at) = self.goes_on.pop() {
            if !self.list(client, now, at, false) {
                self.trees[at].listing = None;
            }
            return Ok(true);
        }
        match self.phase {
            Phase::SetUp | Phase::TearDown if busy > 0 => Ok(false),
            Phase::SetUp | Phase::TearDown => match self.todo.pop_front() {
                Some(todo) => {
                    let before = self.running.len();
                    let has_begun = self.start(client, now, &todo);
                    if has_begun || before == 0 {
                        return Ok(true);
                    }
                    // There is room when something ends.
                    self.todo.push_front(todo);
                    Ok(self.give_up(client, now))
                }
                None if self.phase == Phase::SetUp => {
                    self.phase = Phase::Working;
                    Ok(true)
                }
                None if self.running.is_empty() => {
                    self.phase = Phase::Finished;
                    self.shared.notes.note(|seen| seen.is_done = true);
                    Err(Lost::because("everything is done"))
                }
                // A session whose LOGOFF was not answered in time is there, and so is what waits in it.
                None => Ok(self.give_up(client, now)),
            },
            Phase::Working if self.issued >= self.shared.plan.operations => {
                if busy > 0 {
                    return Ok(false);
                }
                self.tear_down(client, now);
                self.phase = Phase::TearDown;
                Ok(true)
            }
            Phase::Working if self.running.len() < self.shared.plan.under_way || busy == 0 => {
                if !self.choose(client, now) {
                    // Something else is chosen later.
                    self.idle = (self.idle + 1).min(16);
                    self.thinks_until = now.saturating_add(MOMENT * (1 << self.idle));
                    return Ok(true);
                }
                self.idle = 0;
                self.thinks_until = self.shared.notes.soon(&mut self.chance, self.shared.plan.pace.thinks);
                Ok(true)
            }
            Phase::Working | Phase::Finished => Ok(false),
        }
    }

    fn memory(&self, buffer: BufferId) -> Option<&M> {
        self.memory.get(&buffer)
    }

    fn plain(&self, part: &DataPart) -> Option<&[u8]> {
        let running = self.running.values().find(|running| running.buffer == Some(part.buffer))?;
        let What::Write { data, .. } = &running.what else { return None };
        data.get(range(part))
    }

    fn checked(&mut self, part: &DataPart, data: Vec<u8>) {
        let is_open = self.memory.get(&part.buffer).is_some_and(Watched::is_open);
        let running = self.running.values_mut().find(|running| running.buffer == Some(part.buffer));
        let range = range(part);
        let Some(running) = running.filter(|running| range.end <= running.got.len()) else {
            return self.judge(Err(format!("bytes: {part:?} is checked of no READ")));
        };
        running.checked.push(range.clone());
        running.got[range].copy_from_slice(&data);
        // A device opens the whole of a buffer for each of its parts.
        let is_whole = data.len() == running.got.len();
        let judged = (|| {
            law!("end of access", !is_open || !is_whole, "{part:?} is checked while the server can use it");
            Ok(())
        })();
        self.judge(judged);
    }

    fn data(&mut self, operation: OperationId, offset: u64, data: &[u8]) {
        let Some(running) = self.running.get_mut(&operation) else { return };
        let room =
            usize::try_from(offset).ok().and_then(|at| running.got.get_mut(at..at.checked_add(data.len())?));
        match room {
            Some(room) => room.copy_from_slice(data),
            None => {
                self.judge(Err(format!("bytes: {} of {operation:?} at {offset} come unasked", data.len())))
            }
        }
    }

    fn keep(&mut self, operation: OperationId, result: Result<Reply<'_>, Failure>) -> Kept {
        self.shared.notes.step(|| match &result {
            Ok(Reply::Answer(status, _)) => format!("client: {operation:?} ends: {status}"),
            Ok(Reply::Message(_)) => format!("client: {operation:?} ends: a message"),
            Ok(reply) => format!("client: {operation:?} ends: {reply:?}"),
            Err(failure) => format!("client: {operation:?} ends: {failure}"),
        });
        outcome::keep(result)
    }

    fn done(&mut self, _: &Client, operation: OperationId, kept: Kept) {
        let Some(running) = self.running.remove(&operation) else {
            return self.judge(Err(format!("one result: {operation:?} has another one: {kept:?}")));
        };
        if let Some(buffer) = running.buffer {
            let is_open = self.memory.get(&buffer).is_some_and(Watched::is_open);
            let judged = (|| {
                law!(
                    "end of access",
                    !is_open,
                    "the server can use the memory of {operation:?}, which has ended"
                );
                Ok(())
            })();
            self.judge(judged);
        }
        let judged = self.outcome(operation, running, kept);
        self.judge(judged);
    }

    fn expired(&mut self, _: &mut Client, _: Instant, session: SessionHandle) -> Result<(), Lost> {
        if !self.is_excused() {
            self.judge(Err(format!("results: {session:?} has expired, and nobody has said so")));
        }
        Err(Lost::because("a session has expired"))
    }

    fn session_ended(&mut self, session: SessionHandle) {
        if !self.is_excused() {
            self.judge(Err(format!("results: {session:?} has ended, and nobody has ended it")));
        }
        self.has_failed = true;
    }

    fn taken(&mut self, message: &[u8]) {
        self.shared.notes.step(|| format!("client: has received {}", crate::ledger::told(message)));
        let judged = self.shared.ledger.borrow_mut().client_has(message);
        self.judge(judged);
    }

    fn ended(&mut self, why: &Lost) {
        self.shared.notes.step(|| format!("client: the connection is over: {why}"));
        self.shared.notes.note(|seen| _ = seen.own.client_ended.get_or_insert_with(|| why.to_string()));
        self.is_ended = true;
    }

    fn poll_over(&mut self, _: &mut Context<'_>) -> Poll<()> {
        let left: Vec<_> = self.running.keys().collect();
        let judged = (|| {
            law!("one result", left.is_empty(), "the connection is over, and these have none: {left:?}");
            Ok(())
        })();
        self.judge(judged);
        Poll::Ready(())
    }
}

/// Where a part is.
fn range(part: &DataPart) -> Range<usize> {
    let start = part.offset as usize;
    start..start + part.len as usize
}

fn brief(running: &Running) -> String {
    let text = format!("{:?}", running.what);
    let way = if running.buffer.is_some() { ", by RDMA" } else { "" };
    format!("{}{way}", text.chars().take(100).collect::<String>())
}
