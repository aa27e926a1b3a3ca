//! Environment states: a fixed number of [`Real`]s with names.

use super::real::Real;

/// A fixed number of `R`s: an array, or a struct made by [`fields!`](crate::fields).
pub trait Fields<R: Real>: Copy {
    /// How many.
    const N: usize;
    /// The value whose field number `i` is `f(i)`; `f` is called from one place, in order.
    fn from_fn(f: impl FnMut(usize) -> R) -> Self;
    /// Field number `index`, which is below `N`.
    fn get(&self, index: usize) -> R;
    /// `a` where the mask holds, else `b`, field by field.
    #[inline(always)]
    fn select(mask: R::Mask, a: Self, b: Self) -> Self {
        Self::from_fn(|i| R::select(mask, a.get(i), b.get(i)))
    }
}

impl<R: Real, const K: usize> Fields<R> for [R; K] {
    const N: usize = K;
    #[inline(always)]
    fn from_fn(mut f: impl FnMut(usize) -> R) -> Self {
        let mut out = [R::lit(0.0); K];
        for (i, field) in out.iter_mut().enumerate() {
            *field = f(i);
        }
        out
    }
    #[inline(always)]
    fn get(&self, index: usize) -> R {
        self[index]
    }
}

/// Declares a state struct with one generic number per field and implements [`Fields`](crate::env::Fields) for it.
///
/// ```
/// quickstudy_core::fields! {
///     /// A point mass on a line.
///     pub struct Cart {
///         /// Position in m.
///         x,
///         /// Speed in m/s.
///         speed,
///     }
/// }
/// use quickstudy_core::env::Fields;
/// assert_eq!(<Cart<f64> as Fields<f64>>::N, 2);
/// assert_eq!(Cart { x: 1.0, speed: 2.0 }.get(1), 2.0);
/// ```
#[macro_export]
macro_rules! fields {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$doc:meta])* $field:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $vis struct $name<R> {
            $($(#[$doc])* pub $field: R,)+
        }

        impl<R: $crate::env::Real> $crate::env::Fields<R> for $name<R> {
            const N: usize = [$(stringify!($field)),+].len();
            #[inline(always)]
            fn from_fn(f: impl FnMut(usize) -> R) -> Self {
                // Through an array, so that `f` is called from one place.
                let [$($field),+] = <[R; [$(stringify!($field)),+].len()] as $crate::env::Fields<R>>::from_fn(f);
                Self { $($field),+ }
            }
            #[inline(always)]
            fn get(&self, index: usize) -> R {
                [$(self.$field),+][index]
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::fields! {
        struct Point { x, y, z }
    }

    #[test]
    fn structs_and_arrays_read_back_what_they_are_made_of() {
        let p = Point::<f64>::from_fn(|i| i as f64 * 10.0);
        assert_eq!(p, Point { x: 0.0, y: 10.0, z: 20.0 });
        assert_eq!([p.get(0), p.get(1), p.get(2)], [0.0, 10.0, 20.0]);
        let a = <[f64; 2] as Fields<f64>>::from_fn(|i| i as f64);
        assert_eq!(Fields::select(true, a, [7.0, 8.0]), a);
        assert_eq!(Fields::select(false, p, Point { x: 7.0, y: 8.0, z: 9.0 }).y, 8.0);
    }
}
