//! A CIFS server and its client.

use super::{Above, Built, Kind, Over, Protocol, Socket};
use crate::driver::cifs;
use crate::network::client::{self, Client};

/// `cifs-client`
pub static CIFS_CLIENT: Kind = Kind {
    model: "cifs-client",
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
    plugs: &[("runs_on", Protocol::Software), ("controls", Protocol::NicRegisters), ("at", Protocol::CifsClient)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: true,
    build: |context, p| {
        let [Socket::Software(processor), Socket::NicRegisters(adapter), Socket::CifsClient(client)] =
            &context.plugs[..]
        else {
            unreachable!("plugs are checked")
        };
        if !std::rc::Rc::ptr_eq(adapter, client.adapter()) {
            let problem = "the client is not at the wire of the adapter that is controlled";
            return Err(p.error("at", problem, "name a client at that adapter's wire"));
        }
        let spec = cifs::Spec::read(p, adapter.spec().frame_bytes_max())?;
        let (sim, name, at) = (context.sim.clone(), context.name.to_string(), p.clone());
        let (processor, client) = (processor.clone(), client.clone());
        let over: Over = Box::new(move |devices| {
            cifs::install(&sim, &name, spec, &processor, &client, devices)
                .map_err(|(problem, help)| at.error("serves", problem, help))
        });
        Ok(Built { over: Some((Above::Server, over)), ..Built::default() })
    },
};
