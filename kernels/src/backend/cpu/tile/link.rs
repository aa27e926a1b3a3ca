//! Joins elementwise instructions to chains, which one kernel works off without returning in between.

use super::linked::{ChainValue, LinkedTile, RegisterPlaces, TilePart};
use super::linker::Linker;
use super::{Instr, Major, Opnd, Own, Reg, TileLoop};

/// Join the instructions of a tile.
pub fn link(code: &[Instr], places: RegisterPlaces<'_>) -> LinkedTile {
    let mut uses = vec![0; places.registers.len()];
    code.iter().for_each(|instr| count(instr, &mut uses));
    let mut values = Vec::new();
    let mut packs = Packs::default();
    let parts = parts(places, code, &uses, &mut values, &mut packs);
    LinkedTile { parts, values, packs: packs.places }
}

/// Counts how often each register is named; a carry, which lives from step to step, once more.
fn count(instr: &Instr, uses: &mut [usize]) {
    instr.registers(&mut |reg, _| uses[reg] += 1);
    carries(instr, &mut |reg| uses[reg] += 1);
}

fn carries(instr: &Instr, f: &mut dyn FnMut(Reg)) {
    if let Instr::Loop(l) = instr {
        l.carries.iter().for_each(|(reg, ..)| f(*reg));
        l.code.iter().for_each(|instr| carries(instr, f));
    }
}

/// The places of turned weights so far, and their values.
#[derive(Default)]
struct Packs {
    places: usize,
    values: usize,
}

fn parts(
    places: RegisterPlaces<'_>,
    code: &[Instr],
    uses: &[usize],
    values: &mut Vec<ChainValue>,
    packs: &mut Packs,
) -> Vec<TilePart> {
    let RegisterPlaces { registers, majors, .. } = places;
    let mut linker = Linker::new(places, uses, values);
    let mut parts = Vec::new();
    for instr in code {
        if linker.add(instr).is_some() {
            continue;
        }
        linker.flush(&mut parts);
        parts.push(match instr {
            Instr::Loop(l) => {
                let mut code = l.code.clone();
                for (reg, _, next) in &l.carries {
                    if !matches!(next, Opnd::Reg(r, _) if r == reg) {
                        let to = (0..registers[*reg].1 as u32).collect();
                        code.push(Instr::Assemble { dst: *reg, parts: vec![(next.clone(), to)], zero: false });
                    }
                }
                let inside = self::parts(places, &code, uses, linker.values(), packs);
                let mut named = vec![0; registers.len()];
                code.iter().for_each(|instr| count(instr, &mut named));
                let index = l.index.filter(|index| named[*index] > 0);
                TilePart::Loop(TileLoop { code: Vec::new(), index, ..(**l).clone() }, inside)
            }
            Instr::Own(Own::Dense(product)) => {
                let [ks, ns, k, n] = product.strides;
                let turns = match majors[product.dst] {
                    Major::Rows => ns != 1 && n > 1,
                    Major::Lanes => product.of_rows(majors) && ks != 1,
                };
                let place = turns.then_some((packs.places, packs.values));
                if turns {
                    *packs = Packs { places: packs.places + 1, values: packs.values + k * n };
                }
                TilePart::Layer(Box::new(linker.layer(product, place)))
            }
            other => TilePart::Instr(Box::new(other.clone())),
        });
    }
    linker.flush(&mut parts);
    parts
}
