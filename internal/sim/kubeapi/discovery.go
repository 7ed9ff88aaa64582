package kubeapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Version is the version of Kubernetes that the server gives as its own.
const Version = "v1.36.3"

// discover answers requests about the server itself: discovery, version and access reviews.
func (s *Server) discover(r *Request) ([]byte, bool) {
	path := strings.Trim(r.Path, "/")
	var answer any
	switch {
	case r.Method == http.MethodPost && strings.HasPrefix(path, "apis/authorization.k8s.io/"):
		answer = allowed(r.Body)
	case r.Method != http.MethodGet:
		return nil, false
	case path == "version":
		answer = version.Info{Major: "1", Minor: "36", GitVersion: Version, Platform: "linux/amd64"}
	case path == "api":
		answer = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}}
	case path == "apis":
		answer = s.groups()
	default:
		parts := strings.Split(path, "/")
		switch {
		case len(parts) == 2 && parts[0] == "api":
			answer = s.resources(schema.GroupVersion{Version: parts[1]})
		case len(parts) == 3 && parts[0] == "apis":
			answer = s.resources(schema.GroupVersion{Group: parts[1], Version: parts[2]})
		default:
			return nil, false
		}
	}
	body, err := json.Marshal(answer)
	return body, err == nil
}

// Describes reports whether a request is about the server and not about objects: discovery, version or access review. Such
// requests may be served at any time, from any goroutine.
func (s *Server) Describes(r *Request) bool {
	_, ok := s.discover(r)
	return ok
}

// allowed answers an access review with yes.
func allowed(body []byte) any {
	var review authorizationv1.SelfSubjectAccessReview
	if err := json.Unmarshal(body, &review); err != nil {
		review = authorizationv1.SelfSubjectAccessReview{}
	}
	review.TypeMeta = metav1.TypeMeta{Kind: "SelfSubjectAccessReview", APIVersion: "authorization.k8s.io/v1"}
	review.Status.Allowed = true
	return review
}

// groups lists the groups and their versions.
func (s *Server) groups() metav1.APIGroupList {
	versions := map[string]map[string]bool{authorizationv1.GroupName: {authorizationv1.SchemeGroupVersion.Version: true}}
	for r := range s.tables {
		if r.Group != "" {
			if versions[r.Group] == nil {
				versions[r.Group] = map[string]bool{}
			}
			versions[r.Group][r.Version] = true
		}
	}
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, group := range slices.Sorted(maps.Keys(versions)) {
		g := metav1.APIGroup{Name: group}
		for _, v := range slices.Sorted(maps.Keys(versions[group])) {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: group + "/" + v, Version: v})
		}
		g.PreferredVersion = g.Versions[0]
		list.Groups = append(list.Groups, g)
	}
	return list
}

// resources lists the kinds of a version.
func (s *Server) resources(gv schema.GroupVersion) metav1.APIResourceList {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(), APIResources: []metav1.APIResource{},
	}
	if gv == authorizationv1.SchemeGroupVersion {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: "selfsubjectaccessreviews", SingularName: "selfsubjectaccessreview", Kind: "SelfSubjectAccessReview", Verbs: metav1.Verbs{"create"},
		})
	}
	verbs := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	for _, k := range s.cfg.Kinds {
		if k.GroupVersion() != gv {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: k.Plural, SingularName: strings.ToLower(k.Kind), Namespaced: k.Namespaced, Kind: k.Kind, Verbs: verbs,
		})
		if k.Status {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: k.Plural + "/status", Namespaced: k.Namespaced, Kind: k.Kind, Verbs: metav1.Verbs{"get", "patch", "update"},
			})
		}
		if k.Plural == "pods" {
			list.APIResources = append(list.APIResources,
				metav1.APIResource{Name: "pods/eviction", Namespaced: true, Kind: "Eviction", Group: "policy", Version: "v1", Verbs: metav1.Verbs{"create"}},
				metav1.APIResource{Name: "pods/binding", Namespaced: true, Kind: "Binding", Verbs: metav1.Verbs{"create"}})
		}
	}
	return list
}
