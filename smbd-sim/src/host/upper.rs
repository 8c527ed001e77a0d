use smbd_core::Event;
use smbd_core::endpoint::Message;

use super::Context;

/// An upper layer: told of every event, may give commands whenever it is called.
pub trait Upper {
    /// The connection has something to tell.
    fn event(&mut self, event: Event, context: &mut Context<'_>);

    /// A whole message has come, where an [`Endpoint`](smbd_core::Endpoint) is driven. Left out, it is given back.
    fn message(&mut self, message: Message, context: &mut Context<'_>) {
        if let Message::Borrowed(fragment) = message {
            context.release(fragment);
        }
    }

    /// The time set by [`Context::wake_at`] has come.
    fn wake(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }
}

impl<U: Upper + ?Sized> Upper for Box<U> {
    fn event(&mut self, event: Event, context: &mut Context<'_>) {
        (**self).event(event, context);
    }

    fn message(&mut self, message: Message, context: &mut Context<'_>) {
        (**self).message(message, context);
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        (**self).wake(context);
    }
}

/// Gives every fragment back at once and says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listener;

impl Upper for Listener {
    fn event(&mut self, event: Event, context: &mut Context<'_>) {
        if let Event::Data(fragment) = event {
            context.release(fragment);
        }
    }
}
