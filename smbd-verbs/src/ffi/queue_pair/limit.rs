//! A limit of posts, which makes a queue look full (feature `faults`).

use super::QueuePair;

/// How many more work requests are accepted, of both queues together; any number at first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limit(Option<usize>);

impl Limit {
    /// Has `post` hand over as many of `chained` as are left, and refuses the next one with `ENOMEM`, without asking the
    /// device.
    pub(super) fn hold(
        &mut self,
        chained: usize,
        post: impl FnOnce(usize) -> Result<(), (usize, i32)>,
    ) -> Result<(), (usize, i32)> {
        let Some(left) = &mut self.0 else { return post(chained) };
        let allowed = chained.min(*left);
        let result = if allowed == 0 { Ok(()) } else { post(allowed) };
        let accepted = result.map_or_else(|(accepted, _)| accepted, |()| allowed);
        *left -= accepted;
        if result.is_ok() && allowed < chained { Err((allowed, libc::ENOMEM)) } else { result }
    }
}

impl QueuePair {
    /// From now on `accepted` more work requests are taken. Later ones are refused with `ENOMEM`, as by a device whose queue
    /// is full.
    pub(crate) const fn limit_posts(&mut self, accepted: usize) {
        self.limit = Limit(Some(accepted));
    }
}

#[cfg(test)]
mod tests {
    use super::Limit;

    #[test]
    fn of_a_chain_what_is_left_is_accepted_and_the_next_refused_without_the_device() {
        let mut limit = Limit(Some(5));
        let mut asked = Vec::new();
        let mut post = |count| {
            asked.push(count);
            Ok(())
        };
        assert_eq!(limit.hold(3, &mut post), Ok(()));
        assert_eq!(limit.hold(3, &mut post), Err((2, libc::ENOMEM)));
        assert_eq!(limit.hold(1, &mut post), Err((0, libc::ENOMEM)));
        assert_eq!(asked, [3, 2]);
    }

    #[test]
    fn what_the_device_refuses_is_not_counted() {
        let mut limit = Limit(Some(5));
        assert_eq!(limit.hold(4, |_| Err((1, libc::EINVAL))), Err((1, libc::EINVAL)));
        assert_eq!(
            limit.hold(5, |count| if count == 4 { Ok(()) } else { Err((0, 0)) }),
            Err((4, libc::ENOMEM))
        );
    }

    #[test]
    fn without_a_limit_the_device_decides() {
        assert_eq!(Limit::default().hold(usize::MAX, |_| Ok(())), Ok(()));
    }
}
