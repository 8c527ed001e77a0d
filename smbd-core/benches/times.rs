//! Times of the operations that `instructions` counts: for information, nothing depends on them.

mod scenes;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

fn times(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("core");
    for operation in scenes::OPERATIONS {
        group.throughput(Throughput::Elements(operation.many.into()));
        group.bench_function(operation.name, |bencher| {
            bencher.iter_batched(|| (operation.scene)(operation.many), |work| work(), BatchSize::SmallInput);
        });
    }
    group.finish();
}

criterion_group!(benches, times);
criterion_main!(benches);
