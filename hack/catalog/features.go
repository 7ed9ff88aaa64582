package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// neuronChips are the AWS chips by family: name and cores of one device.
var neuronChips = map[string]neuron{
	"inf1":  {Name: "Inferentia", CoresPerDevice: 4},
	"inf2":  {Name: "Inferentia2", CoresPerDevice: 2},
	"trn1":  {Name: "Trainium", CoresPerDevice: 2},
	"trn1n": {Name: "Trainium", CoresPerDevice: 2},
	"trn2":  {Name: "Trainium2", CoresPerDevice: 8},
}

// gpuMemoryMiB has the memory in MiB of the GPU models that EC2 reports in decimal gigabytes, such as 24 GB. It
// replaces the value of the source.
var gpuMemoryMiB = map[string]int{"L4": 22888, "L40S": 45776}

// addAccelerators fills GPUs, Neuron devices and inference accelerators.
func addAccelerators(t *instanceType, s sourceType) {
	if chip, ok := neuronChips[family(s.InstanceType)]; ok {
		chip.Count = s.GPU
		t.Neuron = []neuron{chip}
		if strings.HasPrefix(t.Name, "inf") {
			t.Accelerators = []accelerator{{Name: chip.Name, Manufacturer: "AWS", Count: chip.Count}}
		}
		return
	}
	if family(s.InstanceType) == "dl1" {
		t.GPUs = []gpu{{Name: "Gaudi HL-205", Manufacturer: "Habana", Count: 8, MemoryMiB: 32768}}
		return
	}
	if s.GPU == 0 || s.GPUModel == "" {
		return
	}
	maker, model, _ := strings.Cut(s.GPUModel, " ")
	model = strings.TrimSuffix(strings.TrimPrefix(model, "Tesla "), " Tensor Core")
	memory, ok := gpuMemoryMiB[model]
	if !ok {
		memory = int(s.GPUMemory * 1024 / float64(s.GPU))
	}
	t.GPUs = []gpu{{Name: model, Manufacturer: maker, Count: s.GPU, MemoryMiB: memory}}
}

// nameParts splits a type's family: letters, generation, the rest.
var nameParts = regexp.MustCompile(`^([a-z]+)(?:-[0-9]+tb)?([0-9]+)(.*)\.`)

// oldEncrypted are families before the sixth generation whose cards encrypt
// traffic between instances.
var oldEncrypted = []string{
	"c5n", "m5n", "m5dn", "r5n", "r5dn", "m5zn", "c5a", "c5ad", "g4dn", "g4ad", "g5", "i3en",
	"inf1", "inf2", "p3dn", "p4d", "p4de", "p5", "p5e", "p5en", "d3", "d3en", "dl1", "trn1",
	"trn1n", "vt1", "im4gn", "is4gen", "i4i", "i4g", "x2idn", "x2iedn", "x2iezn",
}

// smallEFA are families of which not only the largest sizes have EFA.
var smallEFA = []string{"g4dn", "g5", "g6", "g6e", "gr6"}

// addFeatures sets the features that AWS documents as rules by family and size.
func addFeatures(t *instanceType) {
	m := nameParts.FindStringSubmatch(t.Name)
	if m == nil {
		return
	}
	generation, err := strconv.Atoi(m[2])
	if err != nil {
		return
	}
	nitro := t.Hypervisor == "nitro" || (t.BareMetal && t.Current)
	t.Encryption = nitro && (generation >= 6 || slices.Contains(oldEncrypted, family(t.Name)))
	// Enclaves need a Nitro virtual machine with a spare core: at least two vCPUs on Graviton, where a vCPU is a core,
	// otherwise four. Burstable types do not support them.
	cores := 4
	if slices.Contains(t.Arch, "arm64") {
		cores = 2
	}
	t.Enclaves = t.Hypervisor == "nitro" && !t.Burstable && m[1] != "a" && m[1] != "mac" &&
		len(t.GPUs) == 0 && len(t.Neuron) == 0 && generation >= 5 && t.VCPU >= cores
	// EFA is supported by the largest sizes of families with fast network cards, and by graphics families from size
	// 8xlarge on. There is one interface per card.
	fast := t.NetworkMbps >= 50_000 || slices.Contains(smallEFA, family(t.Name)) && t.VCPU >= 32
	if nitro && t.Current && m[1] != "mac" && fast {
		t.EFAs = len(t.Cards)
	}
}
