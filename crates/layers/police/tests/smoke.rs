#[test]
fn smoke() {
    use bakeoff_layers_police::{kernel::*, rules::table::Table};
    let t = Table::default();
    match Programs::load(&t, Mode::Enforce) {
        Ok(_) => println!("ok"),
        Err(e) => panic!("{e}"),
    }
}
