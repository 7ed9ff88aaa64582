package diagnose

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// Entries is the part of EKS that returns which roles may access a cluster.
type Entries interface {
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
	DescribeAccessEntry(context.Context, *eks.DescribeAccessEntryInput, ...func(*eks.Options)) (*eks.DescribeAccessEntryOutput, error)
}

// Profiles is the part of IAM that returns the role of an instance profile.
type Profiles interface {
	GetInstanceProfile(context.Context, *iam.GetInstanceProfileInput, ...func(*iam.Options)) (*iam.GetInstanceProfileOutput, error)
}

var (
	_ Entries  = (*eks.Client)(nil)
	_ Profiles = (*iam.Client)(nil)
)

// Access checks whether the role of a node may access a cluster: by an access entry of EKS, or by the ConfigMap
// aws-auth.
type Access struct {
	Cluster  string
	Entries  Entries
	Profiles Profiles
	// Reader reads from the API server, without a cache.
	Reader client.Reader
}

// authMap is the ConfigMap with the roles that may access the cluster without an access entry.
var authMap = client.ObjectKey{Namespace: "kube-system", Name: "aws-auth"}

// Missing returns what the role of an instance profile lacks to join the cluster. The result is empty if the role
// lacks nothing. It is also empty if the cluster uses only the ConfigMap aws-auth and the controller may not read it.
// Missing returns an error if the check fails.
func (a *Access) Missing(ctx context.Context, profile string) (string, error) {
	role, err := a.role(ctx, profile)
	if err != nil {
		return "", err
	}
	mode, err := a.mode(ctx)
	if err != nil {
		return "", err
	}
	byEntry := mode != ekstypes.AuthenticationModeConfigMap
	byMap := mode != ekstypes.AuthenticationModeApi
	if byEntry {
		if in, err := a.hasEntry(ctx, role); err != nil || in {
			return "", err
		}
	}
	found, readable := false, true
	if byMap {
		if found, readable, err = a.mapped(ctx, role); err != nil || found {
			return "", err
		}
	}
	lacks := "is not in ConfigMap kube-system/aws-auth; fix: add it to mapRoles with the groups system:bootstrappers and system:nodes"
	if byEntry {
		lacks = "has no access entry"
		switch {
		case byMap && readable:
			lacks += " and is not in ConfigMap kube-system/aws-auth"
		case byMap:
			lacks += " (not authorized to read ConfigMap kube-system/aws-auth)"
		}
		lacks += fmt.Sprintf("; fix: aws eks create-access-entry --cluster-name %s --principal-arn %s --type EC2_LINUX", a.Cluster, role)
	}
	if byMap && !byEntry && !readable {
		return "", nil // the ConfigMap may contain the role
	}
	return fmt.Sprintf("Cluster does not admit the node: its role %s %s", role, lacks), nil
}

// role returns the ARN of the first role in an instance profile.
func (a *Access) role(ctx context.Context, profile string) (string, error) {
	out, err := a.Profiles.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &profile})
	if err != nil {
		return "", fmt.Errorf("look up the role of nodes: %w", err)
	}
	if out.InstanceProfile == nil || len(out.InstanceProfile.Roles) == 0 {
		return "", fmt.Errorf("look up the role of nodes: instance profile %s has none", profile)
	}
	return aws.ToString(out.InstanceProfile.Roles[0].Arn), nil
}

// mode returns the authentication mode of the cluster. If EKS returns none, it is that with the ConfigMap alone.
func (a *Access) mode(ctx context.Context) (ekstypes.AuthenticationMode, error) {
	out, err := a.Entries.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &a.Cluster})
	if err != nil {
		return "", fmt.Errorf("describe cluster %s: %w", a.Cluster, err)
	}
	if out.Cluster == nil || out.Cluster.AccessConfig == nil || out.Cluster.AccessConfig.AuthenticationMode == "" {
		return ekstypes.AuthenticationModeConfigMap, nil
	}
	return out.Cluster.AccessConfig.AuthenticationMode, nil
}

func (a *Access) hasEntry(ctx context.Context, role string) (bool, error) {
	_, err := a.Entries.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: &a.Cluster, PrincipalArn: &role})
	if fault.Code(err) == "ResourceNotFoundException" {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the access entry of %s: %w", role, err)
	}
	return true, nil
}

// mapped reports whether the ConfigMap contains the role, and whether the controller may read the ConfigMap.
func (a *Access) mapped(ctx context.Context, role string) (found, readable bool, err error) {
	var m corev1.ConfigMap
	err = a.Reader.Get(ctx, authMap, &m)
	switch {
	case apierrors.IsNotFound(err):
		return false, true, nil
	case apierrors.IsForbidden(err):
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("read ConfigMap %s: %w", authMap, err)
	}
	var lines []struct {
		Role string `json:"rolearn"`
	}
	if err := yaml.Unmarshal([]byte(m.Data["mapRoles"]), &lines); err != nil {
		return false, false, fmt.Errorf("read ConfigMap %s: mapRoles: %w", authMap, err)
	}
	for _, l := range lines {
		if l.Role == role || l.Role == withoutPath(role) {
			return true, true, nil
		}
	}
	return false, true, nil
}

// withoutPath returns the ARN of a role without its path, as aws-auth requires.
func withoutPath(role string) string {
	head, path, ok := strings.Cut(role, ":role/")
	if !ok {
		return role
	}
	return head + ":role/" + path[strings.LastIndex(path, "/")+1:]
}
