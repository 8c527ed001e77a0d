mod negotiate;
mod overview;
mod quotas;
mod rig;
mod routing;
mod takeover;
mod trouble;
