package dashboard

import (
	"net/http"

	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/cost"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/ledger"
)

// node returns the details of one node, which is identified by its ID or name.
func (s *Server) node(r *http.Request) (any, error) {
	now := s.state.now()
	id := r.PathValue("id")
	n, ok := now.node(id)
	if !ok {
		return nil, problem{http.StatusNotFound, "node " + id + " not found", "it may have been removed: see the decisions"}
	}
	var launch *decisions.Episode
	if n.Claim != nil {
		if e, ok := s.state.Decisions.Find(func(e *decisions.Episode) bool { return launches(e, n.Claim.Name) }); ok {
			launch = &e
		}
	}
	return view.DetailOf(now.snapshot, n, now.prices, now.outcome, launch), nil
}

func launches(e *decisions.Episode, claim string) bool {
	for i := range e.Launches {
		if e.Launches[i].Claim == claim {
			return true
		}
	}
	return false
}

// node returns the node whose tile has the ID. If there is none, it returns the node with that name.
func (p present) node(id string) (*model.Node, bool) {
	if c, ok := p.snapshot.Claims.Get(id); ok {
		for _, n := range p.snapshot.EachNode() {
			if n.Claim != nil && n.Claim.Name == c.Name {
				return n, true
			}
		}
	}
	return p.snapshot.NodeByName(id)
}

func (s *Server) pools(*http.Request) (any, error) {
	now := s.state.now()
	return map[string]any{"pools": view.PoolsOf(now.snapshot, now.prices, s.state.Pack.Labels)}, nil
}

func (s *Server) capacity(r *http.Request) (any, error) {
	now := s.state.now()
	out := view.CapacityOf(now.snapshot, now.prices, s.state.Decisions.Snapshot())
	if out.Devices = view.DevicesOf(now.snapshot, view.Claims{}, nil); len(out.Devices.Classes) > 0 { // a pod has claims
		read := s.state.listClaims(r.Context())
		out.Devices = view.DevicesOf(now.snapshot, read.claims, s.state.now().groups)
		out.Devices.Problem = read.problem
	}
	return out, nil
}

// cost returns the costs of nodes. It returns an error if they are not known: on a replica that is not the leader, and in
// the first minute.
func (s *Server) cost(r *http.Request) (any, error) {
	q := ledger.Query{Now: s.state.Clock.Now()}
	var err error
	if q.Since, err = timeOf(r, "since", q.Now); err != nil {
		return nil, err
	}
	if by := r.URL.Query().Get("by"); by != "" {
		if q.By, err = cost.ParseFields(by); err != nil {
			return nil, problem{http.StatusBadRequest, "by: " + err.Error(), "use for example by=pool or by=namespace,owner"}
		}
	}
	if _, known := s.state.Costs.Floor(); !known {
		return nil, problem{http.StatusServiceUnavailable, "costs are not known yet, or another replica is the leader", "try again in a minute, or open the dashboard of the leader"}
	}
	blocked, best := view.BlockedOf(s.state.now().outcome.Blocked)
	return view.Cost{Report: s.state.Costs.Save().Report(q), Blocked: blocked, Best: best}, nil
}

// manifest returns a NodePool as YAML, without the fields that only the API server and controllers write.
func (s *Server) manifest(r *http.Request) (any, error) {
	q := r.URL.Query()
	if kind := q.Get("kind"); kind != "NodePool" {
		return nil, problem{http.StatusBadRequest, "kind: \"" + kind + "\" is not supported", "use kind=NodePool"}
	}
	p, ok := s.state.now().snapshot.Pool(q.Get("name"))
	if !ok {
		return nil, problem{http.StatusNotFound, "NodePool \"" + q.Get("name") + "\" not found", "use the name of a NodePool of /api/v1/pools"}
	}
	metadata := map[string]any{"name": p.Name}
	if len(p.Object.Labels) > 0 {
		metadata["labels"] = p.Object.Labels
	}
	if annotations := written(p.Object.Annotations); len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": metadata, "spec": p.Object.Spec,
	})
	if err != nil {
		return nil, err
	}
	return map[string]string{"yaml": string(text)}, nil
}

// written returns the annotations except those that programs write.
func written(annotations map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range annotations {
		switch k {
		case apiv1.NodePoolHashAnnotationKey, apiv1.NodePoolHashVersionAnnotationKey, "kubectl.kubernetes.io/last-applied-configuration":
		default:
			out[k] = v
		}
	}
	return out
}
