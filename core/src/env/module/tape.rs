//! Tapes: a computation over [`Real`](crate::env::Real) as a list of its operations.
//!
//! An operation is its code, what it takes, and makes the next value; values are numbered in the order in which they
//! are made, behind those that the tape begins with. A [`Fold`](TapeOp::Fold) holds the operations of its body.

/// An operation.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapeOp {
    /// A number: `f64` as two words.
    Lit,
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    /// A number and a constant.
    AddLit,
    SubLit,
    MulLit,
    Recip,
    Sqrt,
    Exp,
    Log,
    Sin,
    Cos,
    Tanh,
    Floor,
    Max,
    Min,
    Lt,
    Le,
    Eq,
    Select,
    Uniform,
    FromCount,
    ToCount,
    CountLt,
    SelectBits,
    /// A number, how many a table has, and the table.
    Lookup,
    /// A truth value: 0 or 1.
    Mask,
    MaskAnd,
    MaskOr,
    MaskNot,
    /// A word.
    Bits,
    BitsAdd,
    BitsXor,
    BitsAnd,
    BitsOr,
    /// Bits and by how many they are shifted.
    Shl,
    Shr,
    /// Two words of a key and two of a counter; makes two values.
    Threefry,
    /// How many rows and columns a table has and the table, how many numbers the state has and the state, how many
    /// words the body has and how many values it makes, and the body. The body begins with the values of a state and a
    /// row, and ends with the numbers of the next state. Makes the values of the body, then those of the last state.
    Fold,
}

#[cfg(any(test, feature = "modules"))]
impl TapeOp {
    const ALL: [TapeOp; 42] = {
        use TapeOp::*;
        [
            Lit, Add, Sub, Mul, Div, Neg, AddLit, SubLit, MulLit, Recip, Sqrt, Exp, Log, Sin, Cos, Tanh, Floor, Max,
            Min, Lt, Le, Eq, Select, Uniform, FromCount, ToCount, CountLt, SelectBits, Lookup, Mask, MaskAnd, MaskOr,
            MaskNot, Bits, BitsAdd, BitsXor, BitsAnd, BitsOr, Shl, Shr, Threefry, Fold,
        ]
    };

    /// The operation of a code.
    pub fn of(code: u32) -> Option<TapeOp> {
        Self::ALL.get(code as usize).copied()
    }
}

/// Columns that the table of a fold may have at most.
pub const COLUMNS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_its_code() {
        for (code, op) in TapeOp::ALL.into_iter().enumerate() {
            assert_eq!((TapeOp::of(code as u32), op as usize), (Some(op), code));
        }
        assert_eq!(TapeOp::of(42), None);
    }
}
