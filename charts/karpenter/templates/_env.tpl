{{/* The environment of the controller: one variable a setting. Empty strings and switches that are off are left out. */}}
{{- define "karpenter.env" -}}
{{- if has "aws" (splitList "," .Values.settings.provider) }}
{{- $_ := required "settings.clusterName must be set to the name of the cluster" .Values.settings.clusterName }}
{{- end }}
{{- if ne .Values.settings.provider "aws" }}
- name: KARPENTER_PROVIDER
  value: {{ .Values.settings.provider | quote }}
{{- end }}
- name: KUBERNETES_MIN_VERSION
  value: 1.19.0-0
- name: KARPENTER_SERVICE
  value: {{ include "karpenter.fullname" . }}
- name: LOG_LEVEL
  value: {{ .Values.logLevel | quote }}
- name: LOG_OUTPUT_PATHS
  value: {{ join "," .Values.logOutputPaths | quote }}
- name: LOG_ERROR_OUTPUT_PATHS
  value: {{ join "," .Values.logErrorOutputPaths | quote }}
- name: METRICS_PORT
  value: {{ .Values.controller.metrics.port | quote }}
{{- with .Values.controller.metrics }}
{{- if and .authentication (not .tls.enabled) }}
{{- fail "controller.metrics.authentication needs controller.metrics.tls.enabled, because tokens must not be sent without encryption: set it to true" }}
{{- end }}
{{- if .tls.enabled }}
- name: METRICS_TLS
  value: "true"
{{- if .tls.secretName }}
- name: METRICS_CERTIFICATE_DIR
  value: /etc/karpenter/metrics-certificate
{{- end }}
{{- end }}
{{- if .authentication }}
- name: METRICS_AUTHENTICATION
  value: "true"
{{- end }}
{{- end }}
{{- with .Values.controller.dashboard }}
{{- if .enabled }}
- name: DASHBOARD_PORT
  value: {{ .port | quote }}
{{- if .service }}
- name: DASHBOARD_BIND_ADDRESS
  value: "0.0.0.0"
{{- end }}
{{- if .authentication }}
- name: DASHBOARD_AUTHENTICATION
  value: "true"
{{- end }}
{{- end }}
{{- end }}
- name: HEALTH_PROBE_PORT
  value: {{ .Values.controller.healthProbe.port | quote }}
- name: SYSTEM_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: CPU_REQUESTS
  valueFrom:
    resourceFieldRef:
      containerName: {{ .Values.controller.containerName }}
      divisor: 1m
      resource: requests.cpu
- name: MEMORY_LIMIT
  valueFrom:
    resourceFieldRef:
      containerName: {{ .Values.controller.containerName }}
      divisor: "0"
      resource: limits.memory
{{- with .Values.settings.featureGates }}
- name: FEATURE_GATES
  value: {{ printf "NodeRepair=%v,ReservedCapacity=%v,SpotToSpotConsolidation=%v,NodeOverlay=%v,StaticCapacity=%v,CapacityBuffer=%v,TerminateFirstDrift=%v,TerminateFirstRepair=%v,PodDeletionCostManagement=%v" (default false .nodeRepair) (default false .reservedCapacity) (default false .spotToSpotConsolidation) (default false .nodeOverlay) (default false .staticCapacity) (default false .capacityBuffer) (default false .terminateFirstDrift) (default false .terminateFirstRepair) (default false .podDeletionCostManagement) | quote }}
{{- end }}
{{- if and .Values.settings.legacyNodeRepair (dig "terminateFirstRepair" false (default dict .Values.settings.featureGates)) }}
{{- fail "settings.legacyNodeRepair and settings.featureGates.terminateFirstRepair exclude each other: set one of them to false" }}
{{- end }}
{{- $aws := default dict .Values.settings.awsFeatureGates }}
{{- $gpu := get $aws "draNVIDIAGPU" }}
{{- $efa := get $aws "draEFA" }}
{{- $ignore := .Values.settings.ignoreDRARequests }}
{{- if .Values.settings.enableDRA }}
{{- range $key, $value := dict "awsFeatureGates.draNVIDIAGPU" $gpu "awsFeatureGates.draEFA" $efa "ignoreDRARequests" $ignore }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
{{- fail (printf "settings.%s is set together with settings.enableDRA, which sets it: remove one of them" $key) }}
{{- end }}
{{- end }}
{{- $gpu = true }}
{{- $efa = true }}
{{- end }}
- name: AWS_FEATURE_GATES
  value: {{ printf "NodeClassCEL=%v,DRANVIDIAGPU=%v,DRAEFA=%v,RebootForRepair=%v" (default false $aws.nodeClassCEL) (eq (toString $gpu) "true") (eq (toString $efa) "true") (default false $aws.rebootForRepair) | quote }}
- name: IGNORE_DRA_REQUESTS
  value: {{ ne (include "karpenter.watchesDRA" .) "true" | quote }}
{{- if .Values.settings.legacyNodeRepair }}
- name: LEGACY_NODE_REPAIR
  value: "true"
{{- end }}
{{- $settings := list
  (list "BATCH_MAX_DURATION" "batchMaxDuration")
  (list "BATCH_IDLE_DURATION" "batchIdleDuration")
  (list "PREFERENCE_POLICY" "preferencePolicy")
  (list "MIN_VALUES_POLICY" "minValuesPolicy")
  (list "SCHEDULER_CONFIG" "schedulerConfig")
  (list "CLUSTER_CA_BUNDLE" "clusterCABundle")
  (list "CLUSTER_NAME" "clusterName")
  (list "CLUSTER_ENDPOINT" "clusterEndpoint")
  (list "VM_MEMORY_OVERHEAD_PERCENT" "vmMemoryOverheadPercent")
  (list "INTERRUPTION_QUEUE" "interruptionQueue")
  (list "RESERVED_ENIS" "reservedENIs")
  (list "MANAGEMENT_KUBECONFIG" "managementKubeconfig")
  (list "MACHINE_LAUNCH_TIMEOUT" "machineLaunchTimeout")
  (list "PRICE_FILE" "priceFile")
  (list "PROVIDER_ADDRESS" "providerAddress")
  (list "PROVIDER_CA_FILE" "providerCAFile")
  (list "PROVIDER_CERTIFICATE_FILE" "providerCertificateFile")
  (list "PROVIDER_KEY_FILE" "providerKeyFile")
  (list "LEADER_ELECTION_NAME" "leaderElectionName")
  (list "COST_ALLOCATION_LABEL" "costAllocationLabel")
  (list "DECISION_LOG" "decisionLog")
  (list "AMI_REFRESH_INTERVAL" "amiRefreshInterval")
  (list "SUBNET_REFRESH_INTERVAL" "subnetRefreshInterval")
  (list "SECURITY_GROUP_REFRESH_INTERVAL" "securityGroupRefreshInterval") }}
{{- range $settings }}
{{- $value := index $.Values.settings (index . 1) }}
{{- if not (kindIs "invalid" $value) }}
{{- $text := tpl (include "karpenter.text" $value) $ }}
{{- if $text }}
- name: {{ index . 0 }}
  value: {{ $text | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- if ne .Values.settings.enforcementMode "Auto" }}
- name: ENFORCEMENT_MODE
  value: {{ .Values.settings.enforcementMode | quote }}
{{- end }}
{{- if .Values.settings.pauseLaunches }}
- name: PAUSE_LAUNCHES
  value: "true"
{{- end }}
{{- if .Values.settings.pauseDisruption }}
- name: PAUSE_DISRUPTION
  value: "true"
{{- end }}
{{- with .Values.settings.maxLaunchesPerMinute }}
- name: MAX_LAUNCHES_PER_MINUTE
  value: {{ include "karpenter.text" . | quote }}
{{- end }}
{{- with .Values.settings.maxDisruptionsPerMinute }}
- name: MAX_DISRUPTIONS_PER_MINUTE
  value: {{ include "karpenter.text" . | quote }}
{{- end }}
{{- with .Values.settings.maxReplacementsPerMinute }}
- name: MAX_REPLACEMENTS_PER_MINUTE
  value: {{ include "karpenter.text" . | quote }}
{{- end }}
{{- if ne (int64 .Values.settings.metricsDetailMaxNodes) 500 }}
- name: METRICS_DETAIL_MAX_NODES
  value: {{ include "karpenter.text" .Values.settings.metricsDetailMaxNodes | quote }}
{{- end }}
{{- with .Values.settings.nodeOverheadCost }}
- name: NODE_OVERHEAD_COST
  value: {{ . | quote }}
{{- end }}
{{- with .Values.settings.maxNodeCPU }}
- name: MAX_NODE_CPU
  value: {{ tpl (include "karpenter.text" .) $ | quote }}
{{- end }}
{{- with .Values.settings.newNodeHeadroom }}
- name: NEW_NODE_HEADROOM
  value: {{ . | quote }}
{{- end }}
{{- if not .Values.settings.publishDecisions }}
- name: PUBLISH_DECISIONS
  value: "false"
{{- end }}
{{- if not .Values.settings.nominatePods }}
- name: NOMINATE_PODS
  value: "false"
{{- end }}
{{- $switches := list
  (list "ISOLATED_VPC" "isolatedVPC")
  (list "EKS_CONTROL_PLANE" "eksControlPlane")
  (list "ENABLE_ZONAL_SHIFT" "enableZonalShift")
  (list "DISABLE_CLUSTER_STATE_OBSERVABILITY" "disableClusterStateObservability")
  (list "DISABLE_DRY_RUN" "disableDryRun") }}
{{- range $switches }}
{{- if index $.Values.settings (index . 1) }}
- name: {{ index . 0 }}
  value: "true"
{{- end }}
{{- end }}
{{- end }}

{{/* The variables of karpenter.env, without those that controller.env sets too: a container may name each variable only once. Values in
karpenter.env are quoted, so each variable begins with a line of its own. */}}
{{- define "karpenter.envOfChart" -}}
{{- range splitList "\n- name: " (printf "\n%s" (include "karpenter.env" . | trim)) }}
{{- $name := first (splitList "\n" .) | trim }}
{{- if and $name (not (include "karpenter.hasVariable" (list $ $name))) }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Whether controller.env sets a variable: "true", or nothing. Called with the root and the name of the variable. */}}
{{- define "karpenter.hasVariable" -}}
{{- $name := last . }}
{{- range (first .).Values.controller.env }}
{{- if eq (toString .name) $name }}true{{ end }}
{{- end }}
{{- end }}

{{/* Whether the controller watches ResourceSlices: "true", or nothing. */}}
{{- define "karpenter.watchesDRA" -}}
{{- $aws := default dict .Values.settings.awsFeatureGates }}
{{- $gates := list .Values.settings.enableDRA (get $aws "draNVIDIAGPU") (get $aws "draEFA") }}
{{- if or (eq (toString .Values.settings.ignoreDRARequests) "false") (has "true" (toStrings $gates)) }}true{{ end }}
{{- end }}

{{/* A value as text. Helm reads numbers as floating-point numbers, and those of a million or more would have an exponent. */}}
{{- define "karpenter.text" -}}
{{- if and (kindIs "float64" .) (eq . (float64 (int64 .))) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end }}
{{- end }}
