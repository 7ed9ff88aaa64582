package sim

import (
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A verb is one kind of event of a scenario.
type verb struct {
	usage       string
	least, most int  // number of arguments
	lasts       bool // the event lasts for a time and is written with "for D"
	fault       bool // true for faults, false for actions of users
	// hampers is true for faults that keep the operator from its work.
	hampers bool
	// counted is true for faults that count each call that they affect. Other faults count once, when they begin.
	counted bool
	// ends is when the effect of an event without "for D" ends, which counts as another event. It is zero if nothing ends later.
	ends time.Duration
	do   func(w *World, e Event) error
}

// happen carries out an event.
func (w *World) happen(e Event) error {
	w.trace.add("event %s", e)
	v := verbs()[e.Verb]
	w.faults.note(e, v)
	w.platform.changed()
	if e.For > 0 {
		w.driver.After(e.For+time.Millisecond, w.platform.changed) // after v.do's own end of the event
	}
	if v.ends > 0 {
		w.driver.After(v.ends, w.faults.ended)
	}
	return v.do(w, e)
}

// verbs returns all verbs by name. The seed determines which nodes and instances an event affects.
func verbs() map[string]verb {
	all := map[string]verb{}
	for _, part := range []map[string]verb{userVerbs(), apiVerbs(), cloudVerbs(), nodeVerbs(), processVerbs()} {
		maps.Copy(all, part)
	}
	return all
}

// Faults returns the verbs that are faults, in order.
func Faults() (names []string) {
	all := verbs()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].fault {
			names = append(names, name)
		}
	}
	return names
}

func userVerbs() map[string]verb {
	do := func(f func(users, Event) error) func(*World, Event) error {
		return func(w *World, e Event) error { return f(users{w.platform, w.scenario}, e) }
	}
	return map[string]verb{
		"apply":   {usage: "FILE", least: 1, most: 1, do: do(users.applyFile)},
		"scale":   {usage: "DEPLOYMENT N", least: 2, most: 2, do: do(users.scale)},
		"rollout": {usage: "DEPLOYMENT", least: 1, most: 1, do: do(users.rollout)},
		"delete":  {usage: "KIND NAME", least: 2, most: 2, do: do(users.delete)},
		"delete-claims": {usage: "N", least: 1, most: 1, do: func(w *World, e Event) error {
			return w.platform.deleteSome(e, w.platform.claims())
		}},
		"delete-nodes": {usage: "N", least: 1, most: 1, do: func(w *World, e Event) error {
			return w.platform.deleteSome(e, w.platform.nodes())
		}},
		"protect-pods":  {usage: "N for D", least: 1, most: 1, lasts: true, do: do(users.protectPods)},
		"protect-nodes": {usage: "N for D", least: 1, most: 1, lasts: true, do: do(users.protectNodes)},
		"replicas":      {usage: "POOL N", least: 2, most: 2, do: do(users.setReplicas)},
		"relabel":       {usage: "POOL VALUE", least: 2, most: 2, do: do(users.relabel)},
		"buffer":        {usage: "BUFFER N", least: 2, most: 2, do: do(users.setBuffer)},
		"load":          {usage: "DEPLOYMENT REPLICAS for D", least: 2, most: 2, lasts: true, do: do(users.load)},
		"break-pool":    {usage: "POOL for D", least: 1, most: 1, lasts: true, fault: true, do: do(users.breakPool)},
		"break-class":   {usage: "CLASS for D", least: 1, most: 1, lasts: true, fault: true, do: do(users.breakClass)},
		"untaint":       {usage: "KEY", least: 1, most: 1, do: do(users.untaint)},
		"taint":         {usage: "KEY N for D", least: 2, most: 2, lasts: true, do: do(users.taint)},
		"taint-new":     {usage: "KEY for D", least: 1, most: 1, lasts: true, do: do(users.taintNew)},
		"former-hashes": {do: do(users.formerHashes)},
		"annotate":      {usage: "KIND KEY=VALUE N", least: 3, most: 3, do: do(users.annotate)},
		"cordon":        {usage: "N for D", least: 1, most: 1, lasts: true, do: do(users.cordon)},
	}
}

// callFault returns a verb that affects calls, with up to most arguments of which least are needed.
func callFault(usage string, least, most int) verb {
	return verb{
		usage: usage, least: least, most: most, lasts: true, fault: true, hampers: true, counted: true,
		do: func(w *World, e Event) error { return w.faults.calls(e) },
	}
}

func apiVerbs() map[string]verb {
	return map[string]verb{
		"api-errors":  callFault("RATE [PATH] for D", 1, 2),
		"api-lost":    callFault("RATE [PATH] for D", 1, 2),
		"api-down":    callFault("for D", 0, 0),
		"api-slow":    callFault("DELAY for D", 1, 1),
		"watch-delay": callFault("DELAY [KIND] for D", 1, 2),
		"watch-cut": {usage: "[KIND]", most: 1, fault: true, hampers: true, do: func(w *World, e Event) error {
			return w.processes.cutWatches(e)
		}},
		"watch-gap": {usage: "[KIND] for D", most: 1, lasts: true, fault: true, hampers: true, counted: true, do: func(w *World, e Event) error {
			return w.processes.gap(e)
		}},
		// The clock of the API server is ahead. Only stories have this verb.
		"api-clock": {usage: "D for D", least: 1, most: 1, lasts: true, hampers: true, do: func(w *World, e Event) error {
			d, err := e.duration(0)
			w.platform.ahead = d
			w.driver.After(e.For, func() { w.platform.ahead = 0 })
			return err
		}},
		"lose-claims": {usage: "N", least: 1, most: 1, fault: true, hampers: true, do: func(w *World, e Event) error {
			return w.platform.some(e, w.platform.claims(), func(o client.Object) error { return w.platform.server.Lose(o) })
		}},
	}
}

func cloudVerbs() map[string]verb {
	do := func(f func(*account, Event) error) func(*World, Event) error {
		return func(w *World, e Event) error { return f(w.account, e) }
	}
	admin := func(f func(administrators, Event) error) func(*World, Event) error {
		return func(w *World, e Event) error { return f(administrators{w.account}, e) }
	}
	return map[string]verb{
		"cloud-errors":  callFault("RATE [OPERATION] for D", 1, 2),
		"cloud-lost":    callFault("RATE [OPERATION] for D", 1, 2),
		"cloud-hang":    callFault("RATE [OPERATION] for D", 1, 2),
		"cloud-slow":    callFault("DELAY [OPERATION] for D", 1, 2),
		"cloud-down":    callFault("for D", 0, 0),
		"reserve":       {usage: "TYPE/ZONE N", least: 2, most: 2, do: do((*account).reserve)},
		"reserve-until": {usage: "TYPE/ZONE N for D", least: 2, most: 2, lasts: true, do: do((*account).reserve)},
		"reserve-block": {usage: "TYPE/ZONE N for D", least: 2, most: 2, lasts: true, do: do((*account).reserveBlock)},
		"fill-subnets":  {usage: "ZONE|NAME N for D", least: 2, most: 2, lasts: true, do: do((*account).fillSubnets)},
		"cancel":        {usage: "N", least: 1, most: 1, do: do((*account).cancel)},
		"throttle":      {usage: "OPERATION RATE for D", least: 2, most: 2, lasts: true, fault: true, hampers: true, do: do((*account).throttle)},
		"lag":           {usage: "DELAY for D", least: 1, most: 1, lasts: true, fault: true, hampers: true, do: do(lateDescriptions)},
		"no-capacity":   {usage: "TYPE/ZONE/CAPACITY for D", least: 1, most: 1, lasts: true, fault: true, do: do((*account).noCapacity)},
		"quota":         {usage: "CAPACITY VCPUS for D", least: 2, most: 2, lasts: true, fault: true, do: do((*account).quota)},
		"boot-slow":     {usage: "DELAY for D", least: 1, most: 1, lasts: true, fault: true, do: do((*account).bootSlow)},
		"boot-never":    {usage: "TYPE for D", least: 1, most: 1, lasts: true, fault: true, do: do((*account).bootNever)},
		"interrupt":     {usage: "N", least: 1, most: 1, fault: true, do: do((*account).interrupt)},
		"spot-storm":    {usage: "ZONE", least: 1, most: 1, fault: true, ends: stormLength, do: do((*account).spotStorm)},
		"price":         {usage: "TYPE/ZONE DOLLARS for D", least: 2, most: 2, lasts: true, fault: true, do: do((*account).price)},
		"instance-dies": {usage: "N", least: 1, most: 1, fault: true, do: admin(administrators.endInstances)},
		// The operator reads the newest image once an hour, so the event lasts at least as long.
		"release-images":   {usage: "for D", lasts: true, do: do((*account).releaseImages)},
		"maintenance":      {usage: "N", least: 1, most: 1, do: do((*account).maintenance)},
		"reclaim":          {usage: "TYPE", least: 1, most: 1, do: do((*account).reclaimType)},
		"stop-instances":   {usage: "N", least: 1, most: 1, do: admin(administrators.stopInstances)},
		"start-instances":  {do: admin(administrators.startInstances)},
		"tags-late":        {usage: "DELAY for D", least: 1, most: 1, lasts: true, hampers: true, do: do(lateTags)},
		"change-groups":    {usage: "N", least: 1, most: 1, do: admin(administrators.changeGroups)},
		"impair":           {usage: "N for D", least: 1, most: 1, lasts: true, do: do((*account).impair)},
		"retire":           {usage: "N [cancelled]", least: 1, most: 2, do: do((*account).retire)},
		"rebalance":        {usage: "N", least: 1, most: 1, do: do((*account).rebalance)},
		"tag-image":        {usage: "ARCHITECTURE", least: 1, most: 1, do: admin(administrators.tagImage)},
		"deprecate-image":  {usage: "ARCHITECTURE", least: 1, most: 1, do: admin(administrators.deprecateImage)},
		"copy-image":       {usage: "NAME OWNER", least: 2, most: 2, do: admin(administrators.copyImage)},
		"tag-subnet":       {usage: "ZONE", least: 1, most: 1, do: admin(administrators.tagSubnet)},
		"junk-messages":    {usage: "N", least: 1, most: 1, do: do((*account).junk)},
		"delete-templates": {do: admin(administrators.deleteTemplates)},
		"delete-profiles":  {do: admin(administrators.deleteProfiles)},
		"deny":             {usage: "SERVICE:ACTION for D", least: 1, most: 1, lasts: true, do: admin(administrators.deny)},
		"zonal-shift":      {usage: "ZONE [unapplied|unlisted] for D", least: 1, most: 2, lasts: true, do: admin(administrators.shift)},
		"placement-group":  {usage: "NAME PARTITIONS", least: 2, most: 2, do: admin(administrators.place)},
	}
}

func nodeVerbs() map[string]verb {
	do := func(f func(*platform, Event) error) func(*World, Event) error {
		return func(w *World, e Event) error { return f(w.platform, e) }
	}
	return map[string]verb{
		"node-dies": {usage: "N", least: 1, most: 1, fault: true, do: do((*platform).killKubelets)},
		// Only stories have this verb: it does nothing unless a node is drained at that time.
		"drained-node-dies": {usage: "N", least: 1, most: 1, do: do((*platform).killDrainedKubelets)},
		"node-condition":    {usage: "TYPE=STATUS[/REASON] N for D", least: 2, most: 2, lasts: true, do: do((*platform).setCondition)},
		"register-devices":  {usage: "RESOURCE N", least: 2, most: 2, do: do((*platform).registerDevices)},
		"node-unready":      {usage: "N for D", least: 1, most: 1, lasts: true, fault: true, do: do((*platform).makeNotReady)},
	}
}

func processVerbs() map[string]verb {
	do := func(f func(*processes, Event) error) func(*World, Event) error {
		return func(w *World, e Event) error { return f(w.processes, e) }
	}
	return map[string]verb{
		"crash":       {fault: true, hampers: true, do: do((*processes).crash)},
		"crash-all":   {hampers: true, do: do((*processes).crashAll)}, // Generate does not use it
		"crash-after": {usage: "N [OPERATION|PATH]", least: 1, most: 2, fault: true, hampers: true, do: do((*processes).crashAfter)},
		"hold":        {usage: "for D", lasts: true, fault: true, hampers: true, counted: true, do: do((*processes).strikeLeader)},
		"partition":   {usage: "for D", lasts: true, fault: true, hampers: true, counted: true, do: do((*processes).strikeLeader)},
		"clock-jump":  {usage: "D", least: 1, most: 1, fault: true, hampers: true, do: do((*processes).clockJump)},
	}
}
