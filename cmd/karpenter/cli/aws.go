package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// loadAWS loads the configuration of the AWS SDK, with its default chain of credentials: environment, IRSA, Pod Identity,
// instance role. The user agent of all calls contains karpenter.sh-VERSION, as that of upstream Karpenter does.
func loadAWS(ctx context.Context, version string, log logging.Logger) (awssdk.Config, error) {
	return awsconfig.LoadDefaultConfig(ctx, awsconfig.WithAppID("karpenter"), awsconfig.WithLogger(log),
		awsconfig.WithAPIOptions([]func(*middleware.Stack) error{awsmiddleware.AddUserAgentKey("karpenter.sh-" + version)}))
}

// newAWS connects to AWS. version is the version of the program.
func newAWS(
	ctx context.Context, env operator.Env, core *settings.Settings, own *aws.Settings, version string,
) (operator.Provider, error) {
	sdk, err := loadAWS(ctx, version, sdkLog(env))
	if err != nil {
		return operator.Provider{}, fmt.Errorf("load the AWS configuration: %w", err)
	}
	versions, err := discovery.NewDiscoveryClientForConfig(env.Rest)
	if err != nil {
		return operator.Provider{}, fmt.Errorf("create discovery client: %w", err)
	}
	kube := rest.CopyConfig(env.Rest)
	if err := rest.LoadTLSFiles(kube); err != nil {
		return operator.Provider{}, fmt.Errorf("read the cluster's CA bundle: %w", err)
	}
	for _, w := range own.Warnings() {
		env.Log.Info(w)
	}
	s := *own
	s.ReservedCapacity = core.FeatureGates.ReservedCapacity
	s.RelaxMinValues = core.MinValuesPolicy == settings.MinValuesPolicyBestEffort
	p, err := aws.New(ctx, aws.Config{
		AWS: sdk, Client: env.Client, Reader: env.Live, Writer: env.Writer, Discovery: versions, CAData: kube.CAData,
		Clock: env.Clock, Settings: s, Ledger: env.Ledger, Metrics: env.Metrics, Recorder: teller{env.Events},
		Overlay: env.Overlay, Namespace: cmp.Or(os.Getenv("SYSTEM_NAMESPACE"), core.LeaderElectionNamespace),
	})
	if err != nil {
		return operator.Provider{}, err
	}
	out := operator.Provider{Cloud: p}
	for _, c := range p.Controllers() {
		out.Controllers = append(out.Controllers, c)
	}
	return out, nil
}

// sdkLog returns the logger of the AWS SDK. Its lines have the debug level, since they are about connections that the
// SDK retries.
func sdkLog(env operator.Env) logging.Logger {
	log := env.Log.WithName("aws-sdk").V(1)
	return logging.LoggerFunc(func(level logging.Classification, format string, v ...any) {
		log.Info(fmt.Sprintf(format, v...), "classification", string(level))
	})
}

// A teller passes the events of the provider to the recorder, which drops repeated events. It implements aws.Recorder.
type teller struct{ telemetry.Recorder }

func (t teller) Event(object client.Object, eventType, reason, message string) {
	t.Publish(telemetry.Event{Object: object, Type: eventType, Reason: reason, Message: message})
}
