// One UDP flow over a lossy point-to-point link in ns-3, for BenchmarkBesideNS3 in harness/bench/sim, which runs
// Gauntlet's simulator over the same link. It prints the packets that arrived and the processor time of the simulation in
// seconds, without that of building it.
//
// The flow fills the line of 10 Gb/s, 20 ms long, with 1 KiB per packet, and nothing comes back. ns-3 carries such a payload as a
// length, as it does by default, and computes no checksum. --queue-disc=false leaves out the queueing discipline that its helpers
// put before every device.

#include <sys/resource.h>

#include <cstdio>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

constexpr uint32_t kPayload = 1024;
constexpr uint32_t kHeaders = 20 + 8 + 2;  // IPv4, UDP, PPP
constexpr uint64_t kRate = 10'000'000'000; // bits per second
constexpr uint16_t kPort = 9;

// Used returns the processor time of this process in seconds.
double Used()
{
	rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

// Connect returns the devices of two nodes and the link between them, whose receiver loses packets at random.
NetDeviceContainer Connect(const NodeContainer& nodes, double loss)
{
	PointToPointHelper link;
	link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(kRate)));
	link.SetChannelAttribute("Delay", TimeValue(MilliSeconds(20)));
	NetDeviceContainer devices = link.Install(nodes);
	Ptr<RateErrorModel> errors = CreateObject<RateErrorModel>();
	errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
	errors->SetRate(loss);
	devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
	return devices;
}

// Load sends from the first node to the address on the second at the rate of the line, and returns what counts there.
Ptr<PacketSink> Load(const NodeContainer& nodes, Ipv4Address to, double seconds)
{
	ApplicationContainer sinks =
		PacketSinkHelper("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), kPort)).Install(nodes.Get(1));
	OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(to, kPort));
	source.SetConstantRate(DataRate(kRate / (kPayload + kHeaders) * kPayload), kPayload);
	ApplicationContainer sources = source.Install(nodes.Get(0));
	sources.Stop(Seconds(seconds));
	return DynamicCast<PacketSink>(sinks.Get(0));
}

} // namespace

int main(int argc, char** argv)
{
	double seconds = 0.5, loss = 1e-4;
	bool queueDisc = true;
	CommandLine cmd(__FILE__);
	cmd.AddValue("seconds", "virtual time to send for", seconds);
	cmd.AddValue("loss", "probability that a packet is lost", loss);
	cmd.AddValue("queue-disc", "keep the queueing discipline before the devices", queueDisc);
	cmd.Parse(argc, argv);

	NodeContainer nodes(2);
	NetDeviceContainer devices = Connect(nodes, loss);
	InternetStackHelper().Install(nodes);
	Ipv4InterfaceContainer interfaces = Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(devices);
	if (!queueDisc)
	{
		TrafficControlHelper().Uninstall(devices);
	}
	Ptr<PacketSink> sink = Load(nodes, interfaces.GetAddress(1), seconds);

	const double before = Used();
	Simulator::Run();
	const double used = Used() - before;
	std::printf("%llu %.6f\n", static_cast<unsigned long long>(sink->GetTotalRx() / kPayload), used);
	Simulator::Destroy();
}
