// Command catalog writes the shipped table of EC2 instance types, their zones
// and their prices: one gzipped JSON document made from two public Go modules.
//
//	cd hack && go run ./catalog
//
// It writes the same bytes to internal/awsemu/catalog/catalog.json.gz and provider/aws/shipped/catalog.json.gz. The
// emulator and the provider share no code on purpose, not even the reader of this file. The output has no timestamp, so
// the same sources give the same bytes.
//
// # Sources
//
//   - github.com/cristim/ec2-instances-info, data/instances.json (MIT data of
//     ec2instances.info): vCPU, memory, storage, GPUs, zones, prices;
//   - github.com/aws/amazon-vpc-resource-controller-k8s, pkg/aws/vpc/limits.go
//     (Apache-2.0): network interfaces, addresses, branch interfaces, network
//     cards, hypervisor, bare metal.
//
// A type is in the output if both sources have it. For types that only the second source has, the output has only the
// branch interfaces. Local zones and wavelength zones are left out.
//
// # Document
//
//	{
//	  "schema": 1,
//	  "generated": "2026-09-02",            date of the newest source
//	  "asOf": {"prices": "2025-05-28", "instances": "2025-05-28", "limits": "2026-09-02"},
//	  "sources": [{"module", "version", "license", "facts"}],
//	  "types": [{                           sorted by name
//	    "name": "m5.large",
//	    "vcpu": 2,
//	    "memoryMiB": 8192,
//	    "arch": ["x86_64"],                 as EC2 spells them: i386, x86_64, arm64, x86_64_mac, arm64_mac
//	    "manufacturer": "Intel",            of the CPU: Intel, AMD, AWS, Apple
//	    "clockGHz": 3.1,                    sustained; absent if unknown
//	    "hypervisor": "nitro",              nitro or xen; absent on bare metal
//	    "bareMetal": true,                  absent if false, as every bool below
//	    "current": true,                    current generation
//	    "burstable": true,
//	    "usage": ["on-demand", "spot"],     usage classes
//	    "enis": 3,                          interfaces of all cards together
//	    "ipsPerENI": 10,                    IPv4 addresses per interface
//	    "cards": [3],                       interfaces per network card, by index
//	    "defaultCard": 0,                   absent if 0
//	    "branchENIs": 9, "trunking": true,
//	    "networkMbps": 625,                 baseline; see below
//	    "networkPeakMbps": 10000,
//	    "networkText": "Up to 10 Gigabit",
//	    "ebsMbps": 4750,                    maximum; absent if EBS-optimised is not offered
//	    "ebsBaselineMbps": 650,
//	    "ebsDefault": true,                 EBS-optimised by default
//	    "nvmeGB": 75,                       total instance store; absent without
//	    "nvme": true, "disks": 1,           instance store is NVMe; number of its disks
//	    "gpus": [{"name": "A10G", "manufacturer": "NVIDIA", "count": 4, "memoryMiB": 24576}],
//	    "neuron": [{"name": "Inferentia2", "count": 1, "coresPerDevice": 2}],
//	    "accelerators": [{"name": "Inferentia", "manufacturer": "AWS", "count": 1}],
//	    "efas": 1, "encryption": true, "enclaves": true, "clusterPlacement": true
//	  }],
//	  "branchENIs": {"m9g.large": 9},       of types that only the second source has
//	  "regions": [{                         sorted by name
//	    "name": "us-east-1",
//	    "zones": [{"name": "us-east-1a", "id": "use1-az1"}],
//	    "offers": [[0, 7, 0.096, 0.03168]]
//	  }]
//	}
//
// An offer is [index into types, zones as bits (bit 0 is the first zone), on-demand USD per hour, average spot USD per
// hour]. A price of 0 means that the price is unknown or that the type is not offered. GPU memory is that of one GPU.
//
// # What is derived
//
// The baseline of a type that is sold as "Up to X" is not in the sources. It is taken from the smallest member of the
// same family with a fixed bandwidth, scaled by vCPUs, and is at most X. EFA, encryption in transit and enclave support
// follow the published rules by family and size. AWS assigns letters to zone IDs per account. Here az1 is zone a, az2 is
// zone b, and so on, except in us-east-1, where the old zone use1-az3 is us-east-1e, as in most accounts, and az4 to az6
// get other letters as well. Regions whose zones the source does not list get three zones, and every type is offered in
// each of them.
package main
