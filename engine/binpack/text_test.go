package binpack_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// TestProblems solves the problems of testdata/problem. Each file has prose, a problem (see parser) and the solution.
func TestProblems(t *testing.T) {
	scenario.Files(t, "testdata/problem", func(t *testing.T, ar *txtar.Archive) string {
		if len(ar.Files) != 2 || len(ar.Comment) == 0 {
			t.Fatal("want prose, a problem and a solution")
		}
		p, o := parse(t, string(scenario.Section(t, ar, "problem").Data))
		s := binpack.Solve(p, o)
		for _, no := range violations(p, o, s) {
			t.Error(no)
		}
		return text(p, s)
	})
}

// text returns the solution in the format of the files.
func text(p *binpack.Problem, s *binpack.Solution) string {
	var b strings.Builder
	packed := make([]int, len(p.Items))
	for i := range packed {
		packed[i] = p.Items[i].Copies - s.Left[i]
	}
	fmt.Fprintf(&b, "cost %.4f", s.Cost)
	if !reserved(p) {
		fmt.Fprintf(&b, ", lower bound %.4f", binpack.LowerBound(p, packed))
	}
	b.WriteString("\n")
	for i := 0; i < len(s.Bins); {
		n, bin := 1, s.Bins[i]
		for i+n < len(s.Bins) && sameBin(bin, s.Bins[i+n]) {
			n++
		}
		i += n
		fmt.Fprintf(&b, "%dx %s %.4f:", n, p.Catalogs[bin.Catalog].Types[bin.Type].Name, bin.Price)
		for _, x := range bin.Parts {
			fmt.Fprintf(&b, " %d %s", x.Copies, p.Items[x.Item].Name)
		}
		b.WriteString("\n")
	}
	for i, n := range s.Left {
		if n > 0 {
			fmt.Fprintf(&b, "left out: %d %s\n", n, p.Items[i].Name)
		}
	}
	return b.String()
}

// A parser reads a problem, with one element in each line:
//
//	dimensions 2, fee 0.01, groups 1, supplies 3 1, budget 100 4, distinct 2
//	type small 4 8 supply=0 charge=4,1 includes=0
//	offer small 0.10 spot zone-a                 with labels
//	item web 1 2 x3 on=spot,zone-a count=0:1 bound=0:1 soft=0:1 priority=5 except=small
type parser struct {
	t       *testing.T
	problem *binpack.Problem
	options binpack.Options
	offers  *labelOffers
	labels  []string
	wanted  []uint   // labels, by item
	except  []string // a bin type that the item must not use, by item; empty for none
}

func parse(t *testing.T, text string) (*binpack.Problem, binpack.Options) {
	t.Helper()
	r := parser{t: t, problem: &binpack.Problem{}, offers: &labelOffers{}}
	r.problem.Catalogs = []binpack.Catalog{{Offers: r.offers}}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 {
			r.line(f[0], f[1:])
		}
	}
	p := r.problem
	for i := range p.Items {
		u := use(p, &p.Catalogs[0], &p.Items[i], r.wanted[i])
		for j, t := range p.Catalogs[0].Types {
			if t.Name == r.except[i] {
				u.Types.Remove(j)
			}
		}
		p.Items[i].Uses = []binpack.Use{u}
	}
	return p, r.options
}

func (r *parser) line(what string, args []string) {
	p, c := r.problem, &r.problem.Catalogs[0]
	switch what {
	case "dimensions":
		p.Dimensions = int(r.amounts(args)[0])
	case "groups":
		p.Groups = int(r.amounts(args)[0])
	case "fee":
		p.Fee = r.price(args[0])
	case "supplies":
		for _, v := range r.amounts(args) {
			p.Supplies = append(p.Supplies, int(v))
		}
	case "budget":
		c.Budget = r.amounts(args)
	case "distinct":
		d := binpack.Distinct{Min: int(r.amounts(args)[0])}
		for j := range c.Types {
			d.Values = append(d.Values, []int32{int32(j)})
		}
		r.offers.distinct = append(r.offers.distinct, d)
	case "offer":
		j := slices.IndexFunc(c.Types, func(t binpack.BinType) bool { return t.Name == args[0] })
		r.offers.byType[j] = append(r.offers.byType[j], offer{r.price(args[1]), r.bits(args[2:])})
	case "type":
		c.Types = append(c.Types, r.binType(args))
		r.offers.byType = append(r.offers.byType, nil)
	case "item":
		p.Items = append(p.Items, r.item(args))
	default:
		r.t.Fatalf("what is %q?", what)
	}
}

func (r *parser) binType(args []string) binpack.BinType {
	t := binpack.BinType{Name: args[0], Supply: -1, Capacity: r.amounts(args[1 : 1+r.problem.Dimensions])}
	for key, value := range r.pairs(args[1+r.problem.Dimensions:]) {
		switch key {
		case "supply":
			t.Supply = int(r.amounts([]string{value})[0])
		case "charge":
			t.Charge = r.amounts(strings.Split(value, ","))
		case "draw":
			t.Draw = int(r.amounts([]string{value})[0])
		case "paid":
			t.Paid = true
		}
	}
	return t
}

func (r *parser) item(args []string) binpack.Item {
	n := r.problem.Dimensions
	it := binpack.Item{Name: args[0], Demand: r.amounts(args[1 : 1+n]), Copies: int(r.amounts([]string{args[1+n][1:]})[0])}
	wanted, except := uint(0), ""
	for key, value := range r.pairs(args[2+n:]) {
		switch key {
		case "on":
			wanted = r.bits(strings.Split(value, ","))
		case "count":
			it.Counts = []binpack.Count{{Group: r.two(value)[0], N: r.two(value)[1]}}
		case "bound", "soft":
			it.Bounds = []binpack.Bound{{Group: r.two(value)[0], Max: r.two(value)[1], Soft: key == "soft"}}
		case "priority":
			it.Priority = int32(r.amounts([]string{value})[0])
		case "except":
			except = value
		}
	}
	r.wanted, r.except = append(r.wanted, wanted), append(r.except, except)
	return it
}

func (r *parser) amounts(args []string) []int64 {
	out := make([]int64, len(args))
	for i, a := range args {
		v, err := strconv.ParseInt(a, 10, 64)
		if err != nil {
			r.t.Fatal(err)
		}
		out[i] = v
	}
	return out
}

func (r *parser) price(arg string) float64 {
	v, err := strconv.ParseFloat(arg, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r *parser) indices(value string) []int {
	var out []int
	for _, v := range r.amounts(strings.Split(value, ",")) {
		out = append(out, int(v))
	}
	return out
}

// two reads two numbers in the form a:b.
func (r *parser) two(value string) []int { return r.indices(strings.Replace(value, ":", ",", 1)) }

func (r *parser) pairs(args []string) map[string]string {
	out := map[string]string{}
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		out[key] = value
	}
	return out
}

func (r *parser) bits(labels []string) uint {
	out := uint(0)
	for _, l := range labels {
		i := slices.Index(r.labels, l)
		if i < 0 {
			i = len(r.labels)
			r.labels = append(r.labels, l)
		}
		out |= 1 << i
	}
	return out
}
