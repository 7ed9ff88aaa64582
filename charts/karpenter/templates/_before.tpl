{{/* Keys of charts before 1.0. Each is an error that names what took its place, because Helm would ignore it in silence. */}}
{{- define "karpenter.before" -}}
{{- $moved := dict
  "clusterName" "settings.clusterName"
  "clusterEndpoint" "settings.clusterEndpoint"
  "interruptionQueue" "settings.interruptionQueue"
  "defaultInstanceProfile" "spec.instanceProfile (or spec.role) of your EC2NodeClass"
  "aws.defaultInstanceProfile" "spec.instanceProfile (or spec.role) of your EC2NodeClass"
  "controller.clusterName" "settings.clusterName"
  "controller.clusterEndpoint" "settings.clusterEndpoint"
  "controller.logLevel" "logLevel"
  "controller.outputPaths" "logOutputPaths"
  "controller.errorOutputPaths" "logErrorOutputPaths"
  "controller.batchMaxDuration" "settings.batchMaxDuration"
  "controller.batchIdleDuration" "settings.batchIdleDuration"
  "logConfig" "logLevel, logOutputPaths and logErrorOutputPaths"
  "logEncoding" "nothing: logs are JSON"
  "webhook" "nothing: there are no webhooks any more"
  "settings.interruptionQueueName" "settings.interruptionQueue"
  "settings.defaultInstanceProfile" "spec.instanceProfile (or spec.role) of your EC2NodeClass"
  "settings.assumeRoleARN" "nothing: give the ServiceAccount the role by serviceAccount.annotations or Pod Identity"
  "settings.assumeRoleDuration" "nothing: give the ServiceAccount the role by serviceAccount.annotations or Pod Identity"
  "settings.featureGates.drift" "nothing: drift is always on; hold it back by disruption budgets of the NodePool"
  "settings.featureGates.driftEnabled" "nothing: drift is always on; hold it back by disruption budgets of the NodePool"
  "settings.aws.clusterName" "settings.clusterName"
  "settings.aws.clusterEndpoint" "settings.clusterEndpoint"
  "settings.aws.clusterCABundle" "settings.clusterCABundle"
  "settings.aws.interruptionQueueName" "settings.interruptionQueue"
  "settings.aws.defaultInstanceProfile" "spec.instanceProfile (or spec.role) of your EC2NodeClass"
  "settings.aws.isolatedVPC" "settings.isolatedVPC"
  "settings.aws.vmMemoryOverheadPercent" "settings.vmMemoryOverheadPercent"
  "settings.aws.reservedENIs" "settings.reservedENIs"
  "settings.aws.assumeRoleARN" "nothing: give the ServiceAccount the role by serviceAccount.annotations or Pod Identity"
  "settings.aws.assumeRoleDuration" "nothing: give the ServiceAccount the role by serviceAccount.annotations or Pod Identity"
  "settings.aws.enablePodENI" "nothing: the VPC CNI tells by itself"
  "settings.aws.enableENILimitedPodDensity" "spec.kubelet.maxPods of your EC2NodeClass"
  "settings.aws.nodeNameConvention" "nothing: nodes are named by EC2"
  "settings.aws.tags" "spec.tags of your EC2NodeClass" }}
{{- $found := list }}
{{- range $path := keys $moved | sortAlpha }}
{{- $at := $.Values }}
{{- range splitList "." $path }}
{{- if kindIs "map" $at }}{{ $at = get $at . }}{{ else }}{{ $at = "" }}{{ end }}
{{- end }}
{{- if and (not (kindIs "invalid" $at)) (ne (toString $at) "") }}
{{- $found = append $found (printf "%s: use %s" $path (get $moved $path)) }}
{{- end }}
{{- end }}
{{- with $found }}
{{- fail (printf "\n\nThese values are of a chart before 1.0:\n  %s\n" (join "\n  " .)) }}
{{- end }}
{{- end }}
