//! Launchers, which tell the processes that they start by variables of the environment how many they are.

use std::ffi::{OsStr, OsString};

/// Variables that hold the number of ranks: of Open MPI, of MPICH and Intel MPI, and of MVAPICH.
const COUNTS: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"];

/// Variables that hold the number of a rank among those of its machine, and then those that hold how many these are.
const LOCAL: [&str; 4] =
    ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"];
const LOCAL_COUNTS: [&str; 3] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"];

/// Beginnings of the names of variables by which a process would take itself for a rank.
const PREFIXES: [&str; 9] = ["OMPI_", "PMIX_", "PMI_", "PRTE_", "MPI_LOCAL", "MV2_COMM", "HYDRA_", "HYDI_", "SLURM_"];

fn number(get: &dyn Fn(&str) -> Option<OsString>, names: &[&str]) -> Option<usize> {
    names.iter().find_map(|name| get(name)?.to_str()?.trim().parse().ok())
}

fn counted(get: &dyn Fn(&str) -> Option<OsString>) -> usize {
    // Slurm counts tasks of the whole job in every process of it; those that `srun` starts know their step, too.
    let step = || get("SLURM_STEP_ID").and_then(|_| number(get, &["SLURM_STEP_NUM_TASKS"]));
    // A step of a batch script itself is no task of `srun`.
    let slurm = || step().filter(|_| get("SLURM_PROCID").is_some() && get("SLURM_SRUN_COMM_HOST").is_some());
    number(get, &COUNTS).or_else(slurm).unwrap_or(1).max(1)
}

/// The number of ranks that a launcher has started this process among; 1 without a launcher.
pub(crate) fn ranks() -> usize {
    counted(&|name| std::env::var_os(name))
}

/// The number of this rank, from 0.
pub(crate) fn rank() -> usize {
    const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"];
    number(&|name| std::env::var_os(name), &RANKS).unwrap_or(0)
}

/// The number of this rank among those of its machine, from 0, and their number.
pub(crate) fn on_this_machine() -> [usize; 2] {
    let get: &dyn Fn(&str) -> Option<OsString> = &|name| std::env::var_os(name);
    let own = number(get, &LOCAL).unwrap_or(0);
    [own, number(get, &LOCAL_COUNTS).unwrap_or(1).max(own + 1)]
}

/// Tells whether a variable would make a process take itself for a rank.
pub(crate) fn is_of_launcher(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> usize {
        counted(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        assert_eq!(of(&[]), 1);
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "4")]), 4);
        assert_eq!(of(&[("PMI_SIZE", "2"), ("PMI_RANK", "1")]), 2);
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "many")]), 1);
        // That of one machine is not that of all.
        assert_eq!(of(&[("MPI_LOCALNRANKS", "4"), ("PMI_SIZE", "8")]), 8);
        let srun = [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "3"), ("SLURM_STEP_NUM_TASKS", "8")];
        assert_eq!(of(&[&srun[..], &[("SLURM_SRUN_COMM_HOST", "10.0.0.1")]].concat()), 8);
        // In a batch script, which asked for eight tasks and runs this program once.
        assert_eq!(of(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0"), ("SLURM_JOB_ID", "7")]), 1);
    }

    #[test]
    fn processes_of_a_rank_do_not_inherit_what_makes_a_rank() {
        for name in ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"] {
            assert!(is_of_launcher(name.as_ref()), "{name}");
        }
        assert!(!is_of_launcher("PATH".as_ref()) && !is_of_launcher("QUICKSTUDY_ISA".as_ref()));
    }
}
