//! A CIFS server and its client.

use super::{Above, Built, Kind, Over, Protocol, Socket};
use crate::driver::cifs;
use crate::network::client::{self, Client};

/// `cifs-client`
pub static CIFS_CLIENT: Kind = Kind {
    model: "cifs-client",
    what: "A client machine, whose redirector asks a file server by SMB",
    plugs: &[("at", Protocol::Ethernet)],
    sockets: |_| Ok(vec![("server".into(), Protocol::CifsClient)]),
    required: &["server"],
    software: false,
    build: |context, p| {
        let [Socket::Ethernet(adapter)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let spec = client::Spec::read(p, adapter.spec().frame_bytes_max())?;
        let client = Client::new(context.sim, context.name, spec, adapter);
        Ok(Built { sockets: vec![("server".into(), Socket::CifsClient(client))], ..Built::default() })
    },
};

/// `cifs-server`
pub static CIFS_SERVER: Kind = Kind {
    model: "cifs-server",
    what: "A file server",
    // The adapter that it controls is the one at the client's wire.
    plugs: &[("runs_on", Protocol::Software), ("at", Protocol::CifsClient)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: true,
    build: |context, p| {
        let [Socket::Software(processor), Socket::CifsClient(client)] = &context.plugs[..] else {
            unreachable!("plugs are checked")
        };
        let spec = cifs::Spec::read(p, client.adapter().spec().frame_bytes_max())?;
        let (sim, name, at) = (context.sim.clone(), context.name.to_string(), p.clone());
        let (processor, client) = (processor.clone(), client.clone());
        let over: Over = Box::new(move |devices| {
            cifs::install(&sim, &name, spec, &processor, &client, devices)
                .map_err(|(problem, help)| at.error("serves", problem, help))
        });
        Ok(Built { over: Some((Above::Server, over)), ..Built::default() })
    },
};
