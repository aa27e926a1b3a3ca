//! Environment states: a fixed number of [`Real`]s with names.

use super::real::Real;

/// A fixed number of `R`s: one, an array, or a struct made by [`fields!`](crate::fields), which may hold others.
pub trait Fields<R: Real>: Copy {
    /// How many.
    const N: usize;
    /// The value whose number `i` is `f(i)`; `f` is called in order.
    fn from_fn(f: impl FnMut(usize) -> R) -> Self;
    /// Number `index`, which is below `N`.
    fn get(&self, index: usize) -> R;
    /// The names of the numbers, each behind `prefix`: `cart.x`, or `links.2.angle` where structs hold others. By
    /// default they are numbered.
    fn names(prefix: &str) -> Vec<String> {
        (0..Self::N).map(|i| joined(prefix, &i.to_string())).collect()
    }
    /// `a` where the mask holds, else `b`, number by number.
    #[inline(always)]
    fn select(mask: R::Mask, a: Self, b: Self) -> Self {
        Self::from_fn(|i| R::select(mask, a.get(i), b.get(i)))
    }
}

impl<R: Real> Fields<R> for R {
    const N: usize = 1;
    #[inline(always)]
    fn from_fn(mut f: impl FnMut(usize) -> R) -> Self {
        f(0)
    }
    #[inline(always)]
    fn get(&self, _: usize) -> R {
        *self
    }
    fn names(prefix: &str) -> Vec<String> {
        vec![prefix.to_owned()]
    }
}

impl<R: Real, T: Fields<R>, const K: usize> Fields<R> for [T; K] {
    const N: usize = K * T::N;
    #[inline(always)]
    fn from_fn(mut f: impl FnMut(usize) -> R) -> Self {
        let mut out = [T::from_fn(|_| R::lit(0.0)); K];
        for (i, part) in out.iter_mut().enumerate() {
            *part = T::from_fn(|j| f(i * T::N + j));
        }
        out
    }
    #[inline(always)]
    fn get(&self, index: usize) -> R {
        self[index / T::N].get(index % T::N)
    }
    fn names(prefix: &str) -> Vec<String> {
        (0..K).flat_map(|i| T::names(&joined(prefix, &i.to_string()))).collect()
    }
}

/// The name of a part behind that of the whole, if it has one.
#[doc(hidden)]
#[must_use]
pub fn joined(prefix: &str, part: &str) -> String {
    if prefix.is_empty() { part.to_owned() } else { format!("{prefix}.{part}") }
}

/// Declares a state struct and implements [`Fields`](crate::env::Fields) for it. A field without a type is a number; a
/// field with one holds several numbers: an array, or another such struct, generic over the number `R`.
///
/// ```
/// quickstudy_core::fields! {
///     /// A rigid body in the plane.
///     pub struct Body {
///         /// Position in m.
///         x,
///         /// Speed in m/s.
///         speed,
///     }
/// }
/// quickstudy_core::fields! {
///     /// A chain of three bodies behind a cart.
///     pub struct Chain {
///         /// The body that is pushed.
///         cart: Body<R>,
///         /// The bodies behind it.
///         links: [Body<R>; 3],
///         /// Time in s.
///         time,
///     }
/// }
/// use quickstudy_core::env::Fields;
/// assert_eq!(<Chain<f64> as Fields<f64>>::N, 9);
/// let chain = <Chain<f64> as Fields<f64>>::from_fn(|i| i as f64);
/// assert_eq!((chain.links[1].speed, chain.get(5)), (5.0, 5.0));
/// assert_eq!(<Chain<f64> as Fields<f64>>::names("")[5], "links.1.speed");
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
            fn names(prefix: &str) -> Vec<String> {
                [$(stringify!($field)),+].map(|field| $crate::env::joined(prefix, field)).into()
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($fields:tt)+ }) => {
        $crate::fields! { @typed [$(#[$meta])* $vis struct $name] [] $($fields)+ }
    };
    // Gives each field its type, one after the other.
    (@typed $head:tt [$($done:tt)*] $(#[$doc:meta])* $field:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::fields! { @typed $head [$($done)* [$(#[$doc])* $field: $type]] $($($rest)*)? }
    };
    (@typed $head:tt [$($done:tt)*] $(#[$doc:meta])* $field:ident $(, $($rest:tt)*)?) => {
        $crate::fields! { @typed $head [$($done)* [$(#[$doc])* $field: R]] $($($rest)*)? }
    };
    (@typed [$(#[$meta:meta])* $vis:vis struct $name:ident] [$([$(#[$doc:meta])* $field:ident: $type:ty])+]) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $vis struct $name<R> {
            $($(#[$doc])* pub $field: $type,)+
        }

        impl<R: $crate::env::Real> $crate::env::Fields<R> for $name<R> {
            const N: usize = 0 $(+ <$type as $crate::env::Fields<R>>::N)+;
            #[inline(always)]
            fn from_fn(mut f: impl FnMut(usize) -> R) -> Self {
                let mut before = 0;
                $(
                    let $field = <$type as $crate::env::Fields<R>>::from_fn(|i| f(before + i));
                    before += <$type as $crate::env::Fields<R>>::N;
                )+
                debug_assert_eq!(before, <Self as $crate::env::Fields<R>>::N);
                Self { $($field),+ }
            }
            #[inline(always)]
            fn get(&self, index: usize) -> R {
                let mut before = 0;
                $(
                    let count = <$type as $crate::env::Fields<R>>::N;
                    if index < before + count {
                        return $crate::env::Fields::<R>::get(&self.$field, index - before);
                    }
                    before += count;
                )+
                panic!("number {index} of {before}")
            }
            fn names(prefix: &str) -> Vec<String> {
                let parts = [$({
                    let name = $crate::env::joined(prefix, stringify!($field));
                    <$type as $crate::env::Fields<R>>::names(&name)
                }),+];
                parts.concat()
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

    crate::fields! {
        struct Pair { points: [Point<R>; 2], weights: [R; 2], last: Point<R>, time }
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

    #[test]
    fn structs_in_structs_are_numbered_and_named_in_order() {
        let mut calls = Vec::new();
        let pair = Pair::<f64>::from_fn(|i| {
            calls.push(i);
            i as f64
        });
        assert_eq!(calls, (0..12).collect::<Vec<_>>());
        assert_eq!((pair.points[1].y, pair.weights[1], pair.last.z, pair.time), (4.0, 7.0, 10.0, 11.0));
        let names = <Pair<f64> as Fields<f64>>::names("");
        assert_eq!(names.len(), <Pair<f64> as Fields<f64>>::N);
        for (name, index) in [("points.0.x", 0), ("points.1.y", 4), ("weights.1", 7), ("last.z", 10), ("time", 11)] {
            assert_eq!((names[index].as_str(), pair.get(index)), (name, index as f64));
        }
        let other = Pair::<f64>::from_fn(|_| -1.0);
        assert_eq!(Fields::select(true, pair, other), pair);
        assert_eq!(Fields::select(false, pair, other), other);
    }
}
