package clusterapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A record is the choice for one claim. It is written to the claim before objects are created, and has the name and
// kind of each of these objects.
type record struct {
	Namespace     string `json:"namespace"`
	Cluster       string `json:"cluster"`
	Name          string `json:"name"` // of the Machine and the clones
	Template      string `json:"template"`
	FailureDomain string `json:"failureDomain,omitempty"`
	Zone          string `json:"zone"`
	// Infrastructure and Bootstrap are the kinds of the clones. Bootstrap is empty if there is only a Secret.
	Infrastructure schema.GroupVersionKind `json:"infrastructure"`
	Bootstrap      schema.GroupVersionKind `json:"bootstrap,omitzero"`
}

func (r record) key() client.ObjectKey { return client.ObjectKey{Namespace: r.Namespace, Name: r.Name} }

// String returns the value of the annotation.
func (r record) String() string {
	raw, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("encode launch record %#v: %v", r, err)) // only strings
	}
	return string(raw)
}

// recordOf returns the record of a claim, and false if there is none or it cannot be parsed.
func recordOf(claim *apiv1.NodeClaim) (record, bool) {
	var r record
	text, ok := claim.Annotations[clusterapiv1alpha1.LaunchAnnotationKey]
	if !ok || json.Unmarshal([]byte(text), &r) != nil || r.Name == "" || r.Namespace == "" {
		return record{}, false
	}
	return r, true
}

// maxName is the maximum length of a Machine's name. Infrastructure providers often use it as the name of the host.
const maxName = 63

// nameOf returns the name of the claim's Machine and clones. A name that is too long is cut and gets a hash.
func nameOf(cluster, claim string) string {
	name := cluster + "-" + claim
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(name[:maxName-9], "-.") + "-" + hex.EncodeToString(sum[:4])
}
