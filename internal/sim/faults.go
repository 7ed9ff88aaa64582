package sim

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// kind is what happens to a call.
type kind int

const (
	serve  kind = iota
	refuse      // not carried out; the connection is refused
	fail        // not carried out; an error is the answer
	lose        // carried out; the answer is lost
	hang        // not carried out; no answer comes
)

// A fate is what happens to one call.
type fate struct {
	kind     kind
	response kubeapi.Response
	after    time.Duration // until the caller learns that an answer is lost
}

// quietKind reports whether a path is of a kind whose writes say nothing about decisions.
func quietKind(path string) bool {
	return strings.Contains(path, "/events") || strings.Contains(path, "/leases")
}

// status returns the answer to a call that fails with an error of the API server.
func status(err *apierrors.StatusError) kubeapi.Response {
	err.ErrStatus.APIVersion, err.ErrStatus.Kind = "v1", "Status"
	body, _ := json.Marshal(err.ErrStatus)
	return kubeapi.Response{Code: int(err.ErrStatus.Code), Body: body}
}

// failure returns one of the errors that kube-apiserver gives under load.
func failure(d Dice, q *kubeapi.Request) kubeapi.Response {
	switch d.IntN(4) {
	case 0:
		return status(apierrors.NewTooManyRequests("the server is busy", 1))
	case 1:
		return status(apierrors.NewServiceUnavailable("etcdserver: leader changed"))
	case 2:
		if q.Method == http.MethodPut || q.Method == http.MethodPatch {
			return status(apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, q.Path, nil))
		}
	}
	return status(apierrors.NewInternalError(errDown))
}

// faults decides what happens to calls.
type faults struct {
	driver *Driver
}

// kube returns when a call to the API server is carried out, and what happens to it.
func (f *faults) kube(who string, q *kubeapi.Request) (time.Duration, fate) {
	return f.driver.Dice(who+q.Method+q.Path).Between(time.Millisecond, 10*time.Millisecond), fate{}
}

// cloud returns when a call to the cloud is carried out, and what happens to it.
func (f *faults) cloud(who, op string) (time.Duration, fate) {
	return f.driver.Dice(who+op).Between(20*time.Millisecond, 300*time.Millisecond), fate{}
}

// watch returns how late an event of a watch arrives.
func (f *faults) watch(who, plural string) time.Duration {
	return f.driver.Dice(who+" event "+plural).Between(time.Millisecond, 20*time.Millisecond)
}
