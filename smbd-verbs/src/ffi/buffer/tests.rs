use super::*;

#[test]
fn a_buffer_is_zero_aligned_and_takes_bytes() {
    for len in [1, 4096, 5000, 3 << 20] {
        let buffer = Buffer::new(len).unwrap();
        assert_eq!(buffer.start().addr().get() % 4096, 0);
        let mut all = vec![1; len as usize];
        buffer.read(0, &mut all).unwrap();
        assert!(all.iter().all(|&byte| byte == 0));
        buffer.fill(len - 1, &[7]).unwrap();
        buffer.read(0, &mut all).unwrap();
        assert_eq!(all[len as usize - 1], 7);
    }
}

#[test]
fn ranges_outside_are_refused_with_their_values() {
    let buffer = Buffer::new(8).unwrap();
    assert_eq!(buffer.fill(8, &[]), Ok(()));
    assert_eq!(buffer.fill(7, &[0; 2]), Err(OutOfRange { offset: 7, len: 2, size: 8 }));
    assert_eq!(buffer.read(u32::MAX, &mut [0]), Err(OutOfRange { offset: u32::MAX, len: 1, size: 8 }));
    let mut behind = vec![1];
    assert_eq!(buffer.append_to(7, 2, &mut behind), Err(OutOfRange { offset: 7, len: 2, size: 8 }));
    assert_eq!(behind, [1]);
}

#[test]
fn bytes_of_a_buffer_come_behind_what_is_there() {
    let buffer = Buffer::new(8).unwrap();
    buffer.fill(0, b"datagram").unwrap();
    let mut to = b"of a ".to_vec();
    buffer.append_to(4, 3, &mut to).unwrap();
    buffer.append_to(7, 1, &mut to).unwrap();
    buffer.append_to(8, 0, &mut to).unwrap();
    assert_eq!(to, b"of a gram");
}

#[test]
fn bytes_go_between_a_buffer_and_a_socket_and_nothing_waits() {
    use std::os::{fd::AsFd, unix::net::UnixStream};

    let (here, there) = UnixStream::pair().unwrap();
    let (from, to) = (Buffer::new(8).unwrap(), Buffer::new(8).unwrap());
    from.fill(0, b"datagram").unwrap();
    let nothing = to.receive_from(there.as_fd(), 0, 8, &mut []).unwrap_err();
    assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
    assert_eq!(from.send_to(here.as_fd(), &[], 4, 4).unwrap(), 4);
    assert_eq!(to.receive_from(there.as_fd(), 1, 7, &mut []).unwrap(), 4);
    let mut all = [1; 8];
    to.read(0, &mut all).unwrap();
    assert_eq!(&all, b"\0gram\0\0\0");
    assert_eq!(from.send_to(here.as_fd(), b"a new ", 0, 8).unwrap(), 14);
    let mut behind = [0; 8];
    assert_eq!(to.receive_from(there.as_fd(), 2, 4, &mut behind).unwrap(), 12);
    assert_eq!(to.receive_from(there.as_fd(), 6, 2, &mut []).unwrap(), 2);
    to.read(0, &mut all).unwrap();
    assert_eq!((&all, &behind), (b"\0ga neam", b"w datagr"));
    let outside = to.receive_from(there.as_fd(), 1, 8, &mut []).unwrap_err();
    assert_eq!(outside.kind(), io::ErrorKind::InvalidInput);
    drop(here);
    assert_eq!(to.receive_from(there.as_fd(), 0, 8, &mut []).unwrap(), 0);
    let gone = from.send_to(there.as_fd(), &[], 0, 8).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn a_sealed_file_is_shared_and_another_is_refused() {
    use std::fs::File;
    use std::os::fd::{AsFd, FromRawFd};
    use std::os::unix::fs::FileExt;

    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a text with its end, and the file descriptor that is returned is nobody else's.
    let file = unsafe { File::from_raw_fd(libc::memfd_create(c"slots".as_ptr(), flags)) };
    file.set_len(8192).unwrap();
    let refused = Buffer::map(file.as_fd(), 0, 4096).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    // SAFETY: takes and returns numbers.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) }, 0);
    let second = Buffer::map(file.as_fd(), 4096, 4096).unwrap();
    second.fill(1, b"here").unwrap();
    let mut seen = [0; 4];
    file.read_exact_at(&mut seen, 4097).unwrap();
    assert_eq!(&seen, b"here");
    file.write_all_at(b"there", 4096).unwrap();
    let mut seen = [0; 5];
    second.read(0, &mut seen).unwrap();
    assert_eq!(&seen, b"there");
    for (offset, len) in [(4096, 4097), (8192, 1), (0, 0), (u64::MAX, 1), (1, 4096)] {
        let refused = Buffer::map(file.as_fd(), offset, len).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{offset} {len}");
    }
}

#[test]
fn a_file_is_read_to_a_buffer_and_written_from_it_within_its_range() {
    use std::fs::File;
    use std::os::fd::{AsFd, FromRawFd};
    use std::os::unix::fs::FileExt;

    // SAFETY: the name is a text with its end, and the file descriptor that is returned is nobody else's.
    let file = unsafe { File::from_raw_fd(libc::memfd_create(c"file".as_ptr(), libc::MFD_CLOEXEC)) };
    file.write_all_at(b"0123456789", 0).unwrap();
    let buffer = Buffer::new(8).unwrap();
    assert_eq!(buffer.read_from(file.as_fd(), false, 3, (2, 4)).unwrap(), 4);
    let mut seen = [0; 8];
    buffer.read(0, &mut seen).unwrap();
    assert_eq!(&seen, b"\0\x003456\0\0");
    // Less at the end of the file, and nothing behind it.
    assert_eq!(buffer.read_from(file.as_fd(), false, 8, (0, 8)).unwrap(), 2);
    assert_eq!(buffer.read_from(file.as_fd(), false, 10, (0, 8)).unwrap(), 0);
    assert_eq!(buffer.write_to(file.as_fd(), 100, 0, 3).unwrap(), 3);
    let mut written = [0; 3];
    file.read_exact_at(&mut written, 100).unwrap();
    assert_eq!(&written, b"893");
    for (offset, len) in [(8, 1), (0, 9), (u32::MAX, 2)] {
        let refused = buffer.read_from(file.as_fd(), false, 0, (offset, len)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{offset} {len}");
        let refused = buffer.write_to(file.as_fd(), 0, offset, len).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{offset} {len}");
    }
    buffer.read_from(file.as_fd(), false, u64::MAX, (0, 1)).unwrap_err();
    // Without waiting: what was just written, or the file system cannot tell.
    match buffer.read_from(file.as_fd(), true, 3, (2, 4)) {
        Ok(count) => assert_eq!(count, 4),
        Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP)),
    }
}

#[test]
fn nothing_is_no_buffer() {
    assert_eq!(Buffer::new(0).unwrap_err(), OutOfMemory { len: 0 });
}

#[test]
fn clones_are_counted_and_share_their_id() {
    let (a, b) = (Buffer::new(1).unwrap(), Buffer::new(1).unwrap());
    assert_ne!(a.id(), b.id());
    let clone = a.clone();
    assert_eq!((clone.id(), a.handles(), b.handles()), (a.id(), 2, 1));
}
