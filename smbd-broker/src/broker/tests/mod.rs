mod negotiate;
mod quotas;
mod rig;
mod routing;
mod takeover;
mod trouble;
