"""An os-ken application: a switch that learns addresses, in OpenFlow 1.0, 1.3 or 1.5 (OF_VERSION)."""

import os

from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, ether_types, packet
from os_ken.ofproto import ofproto_v1_0, ofproto_v1_3, ofproto_v1_5

_PROTOCOLS = {"1.0": ofproto_v1_0, "1.3": ofproto_v1_3, "1.5": ofproto_v1_5}
_PROTOCOL = _PROTOCOLS[os.environ.get("OF_VERSION", "1.3")]


class LearningSwitch(app_manager.OSKenApp):
    OFP_VERSIONS = [_PROTOCOL.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.places = {}  # (datapath, address): port

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def on_features(self, event):
        """From 1.3 on what matches nothing is dropped, unless a flow sends it here."""
        datapath = event.msg.datapath
        protocol, parser = datapath.ofproto, datapath.ofproto_parser
        if protocol.OFP_VERSION == ofproto_v1_0.OFP_VERSION:
            return
        to_controller = parser.OFPActionOutput(protocol.OFPP_CONTROLLER, protocol.OFPCML_NO_BUFFER)
        self.add_flow(datapath, 0, parser.OFPMatch(), [to_controller])

    def add_flow(self, datapath, priority, match, actions):
        protocol, parser = datapath.ofproto, datapath.ofproto_parser
        if protocol.OFP_VERSION == ofproto_v1_0.OFP_VERSION:
            mod = parser.OFPFlowMod(datapath=datapath, match=match, cookie=0, command=protocol.OFPFC_ADD, idle_timeout=0,
                                    hard_timeout=0, priority=protocol.OFP_DEFAULT_PRIORITY,
                                    flags=protocol.OFPFF_SEND_FLOW_REM, actions=actions)  # fmt: skip
        else:
            apply = [parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, actions)]
            mod = parser.OFPFlowMod(datapath=datapath, priority=priority, match=match, instructions=apply)
        datapath.send_msg(mod)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet(self, event):
        message = event.msg
        datapath = message.datapath
        protocol, parser = datapath.ofproto, datapath.ofproto_parser
        is_old = protocol.OFP_VERSION == ofproto_v1_0.OFP_VERSION
        in_port = message.in_port if is_old else message.match["in_port"]
        frame = packet.Packet(message.data).get_protocols(ethernet.ethernet)[0]
        if frame.ethertype == ether_types.ETH_TYPE_LLDP:
            return
        self.places[datapath.id, frame.src] = in_port
        out_port = self.places.get((datapath.id, frame.dst), protocol.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out_port)]
        if out_port != protocol.OFPP_FLOOD:
            if is_old:
                match = parser.OFPMatch(in_port=in_port, dl_dst=frame.dst)
            else:
                match = parser.OFPMatch(in_port=in_port, eth_dst=frame.dst)
            self.add_flow(datapath, 1, match, actions)
        if protocol.OFP_VERSION == ofproto_v1_5.OFP_VERSION:
            out = parser.OFPPacketOut(datapath=datapath, buffer_id=protocol.OFP_NO_BUFFER,
                                      match=parser.OFPMatch(in_port=in_port), actions=actions,
                                      data=message.data)  # fmt: skip
        else:
            out = parser.OFPPacketOut(datapath=datapath, buffer_id=0xffffffff, in_port=in_port, actions=actions,
                                      data=message.data)  # fmt: skip
        datapath.send_msg(out)
