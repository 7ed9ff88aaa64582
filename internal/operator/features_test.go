package operator

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// An API server that does not answer is no refusal.
func TestMayWatch(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refused string // the verb that is refused
		err     error
		want    bool
	}{
		{name: "allowed", want: true},
		{name: "may list and not watch", refused: "watch"},
		{name: "no answer", err: errors.New("connection refused")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
					review := o.(*authorizationv1.SelfSubjectAccessReview)
					review.Status.Allowed = review.Spec.ResourceAttributes.Verb != tt.refused
					return tt.err
				},
			}).Build()
			got, err := mayWatch(t.Context(), c, "limitranges", logr.Discard())
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %t and %v, want %t and %v", got, err, tt.want, tt.err)
			}
		})
	}
}
