package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// whatIf has the flags that describe a change whose effect is shown.
type whatIf struct {
	files, without, prices []string
	priceOf                map[string]float64
}

func (w *whatIf) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVarP(&w.files, "filename", "f", nil, "NodePools and EC2NodeClasses that would be applied; may be repeated")
	f.StringArrayVar(&w.without, "without-node", nil, "Node that would be removed; may be repeated")
	f.StringArrayVar(&w.prices, "with-price", nil, "Price of an instance type in USD/h, as TYPE=PRICE; may be repeated")
}

func (w *whatIf) given() bool { return len(w.files)+len(w.without)+len(w.prices) > 0 }

func (w *whatIf) check() error {
	w.priceOf = map[string]float64{}
	for _, text := range w.prices {
		name, value, ok := strings.Cut(text, "=")
		price, err := strconv.ParseFloat(value, 64)
		if !ok || name == "" || err != nil || !(price >= 0) {
			return coded{exitUsage, fmt.Errorf("--with-price: %q is not TYPE=PRICE, use for example m7a.large=0.05", text)}
		}
		w.priceOf[name] = price
	}
	return nil
}

// compare returns the effect of the change on the cluster of run.
func (w *whatIf) compare(cmd *cobra.Command, l *liveState, run *offline.Run) (offline.WhatIf, error) {
	a := offline.Alteration{Snapshot: l.snapshot, Gone: slices.Clone(w.without)}
	if len(w.files) > 0 {
		if err := w.apply(cmd, l, &a); err != nil {
			return offline.WhatIf{}, err
		}
	}
	for _, name := range w.without {
		if _, ok := a.Snapshot.NodeByName(name); !ok {
			return offline.WhatIf{}, fmt.Errorf("--without-node: node %q not found", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.priceOf)) {
		if !offline.Priced(a.Snapshot, name) {
			return offline.WhatIf{}, fmt.Errorf("--with-price: no NodePool has an offering of instance type %q; karpenter catalog lists the types", name)
		}
	}
	if len(w.priceOf) > 0 {
		a.Snapshot = offline.WithPrices(a.Snapshot, w.priceOf)
	}
	return run.Compare(a, time.Now), nil
}

// apply puts the NodePools and EC2NodeClasses of the files into the snapshot of a, in the place of those with the
// same names. It also sets which nodes drift because of changed node classes, and sentences about effects that are
// not known.
func (w *whatIf) apply(cmd *cobra.Command, l *liveState, a *offline.Alteration) error {
	set, err := manifest.Read(cmd.Context(), w.files, manifest.Options{Stdin: cmd.InOrStdin(), Legacy: converter{}})
	if err != nil {
		return err
	}
	a.Drifted = map[string]string{}
	pools, classes := slices.Clone(l.found.Pools), slices.Clone(l.found.Classes)
	given := manifest.Of[*apiv1.NodePool](set)
	if len(given)+len(manifest.Of[*awsv1.EC2NodeClass](set)) == 0 {
		return errors.New("-f: no NodePool or EC2NodeClass found")
	}
	for _, c := range manifest.Of[*awsv1.EC2NodeClass](set) {
		i := slices.IndexFunc(classes, func(have *awsv1.EC2NodeClass) bool { return have.Name == c.Name })
		if i < 0 {
			classes = append(classes, c)
			continue
		}
		drifted, unknown := offline.ClassDrift(l.snapshot, classes[i], c)
		maps.Copy(a.Drifted, drifted)
		a.Unknown = append(a.Unknown, unknown...)
		c.Status = classes[i].Status
		classes[i] = c
	}
	var d model.Delta
	for _, p := range given {
		adoptPool(p, &pools)
		d.Pools = append(d.Pools, p)
	}
	catalogue := l.catalogue.Anew()
	supply, err := catalogue.Supply(pools, classes, l.found.Overlays)
	if err != nil {
		return err
	}
	d.Types = supply.Types
	a.Snapshot = l.snapshot.Apply(d)
	return nil
}

// adoptPool replaces the stored pool with the name of p by p. If there is none, it adds p. offline.Adopt
// completes p with the fields that only the server sets.
func adoptPool(p *apiv1.NodePool, pools *[]*apiv1.NodePool) {
	i := slices.IndexFunc(*pools, func(have *apiv1.NodePool) bool { return have.Name == p.Name })
	if i < 0 {
		offline.Adopt(p, nil)
		*pools = append(*pools, p)
		return
	}
	offline.Adopt(p, (*pools)[i])
	(*pools)[i] = p
}

// without returns the effect of removing the node.
func (l *liveState) without(run *offline.Run, node string) offline.WhatIf {
	return run.Compare(offline.Alteration{Snapshot: l.snapshot, Gone: []string{node}}, time.Now)
}
