//! A CIFS server and its client. What their numbers may be follows from the adapter at the wire between them: they are
//! read once that is known.

use super::plugs::{At, RunsOn};
use super::sockets::{CifsClient, Ethernet};
use super::{Above, Builder, Built, Kind, NO_SOCKETS, Over, Protocol, one};
use crate::driver::cifs;
use crate::network::client;
use crate::parameters::declarations::Unlimited;

/// `cifs-client`
pub static CIFS_CLIENT: Kind = Kind {
    model: "cifs-client",
    what: "A client machine, whose redirector asks a file server by SMB",
    sockets: |_| Ok(one("server", Protocol::CifsClient)),
    required: &["server"],
    build: &Builder(|context, _: Unlimited<client::Spec>, At(Ethernet(adapter)), p| {
        let spec = client::Spec::read(p, adapter.spec().frame_bytes_max())?;
        let client = client::Client::new(context.sim, context.name, spec, &adapter);
        Ok(Built::with(one("server", CifsClient(client))))
    }),
};

/// `cifs-server`
pub static CIFS_SERVER: Kind = Kind {
    model: "cifs-server",
    what: "A file server",
    sockets: NO_SOCKETS,
    required: &[],
    // The adapter that it controls is the one at the client's wire.
    build: &Builder(|context, _: Unlimited<cifs::Spec>, (RunsOn(processor), At(CifsClient(client))), p| {
        let spec = cifs::Spec::read(p, client.adapter().spec().frame_bytes_max())?;
        let (sim, name, at) = (context.sim.clone(), context.name.to_string(), p.clone());
        let over: Over = Box::new(move |devices| {
            cifs::install(&sim, &name, spec, &processor, &client, devices)
                .map_err(|(problem, help)| at.error("serves", problem, help))
        });
        Ok(Built { over: Some((Above::Server, over)), ..Built::default() })
    }),
};
