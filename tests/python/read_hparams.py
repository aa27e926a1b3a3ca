"""Prints what TensorBoard's plugin hparams shows of the runs below a folder, as JSON.

read_hparams.py FOLDER: the code is TensorBoard's own, up to the answers that its page asks for.
"""

import json
import sys

from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import (
    api_pb2,
    backend_context,
    get_experiment,
    list_session_groups,
)


def main(folder):
    runs = plugin_event_multiplexer.EventMultiplexer()
    runs.AddRunsFromDirectory(folder)
    runs.Reload()
    provider = data_provider.MultiplexerDataProvider(runs, folder)
    of_tensorboard = base_plugin.TBContext(logdir=folder, data_provider=provider)
    context = backend_context.Context(of_tensorboard)
    asked = api_pb2.GetExperimentRequest(experiment_name="")
    experiment = get_experiment.Handler(RequestContext(), context, "", asked).run()
    settings = {info.name: api_pb2.DataType.Name(info.type) for info in experiment.hparam_infos}
    differ = sorted(info.name for info in experiment.hparam_infos if info.differs)

    # As the page asks: a column for each setting and each metric, all states of runs, all in one slice.
    columns = [api_pb2.ColParams(hparam=name) for name in settings]
    columns += [api_pb2.ColParams(metric=info.name) for info in experiment.metric_infos]
    asked = api_pb2.ListSessionGroupsRequest(
        experiment_name="",
        allowed_statuses=[value for _, value in api_pb2.Status.items()],
        col_params=columns,
        start_index=0,
        slice_size=1000,
    )
    answer = list_session_groups.Handler(RequestContext(), context, "", asked).run()
    sessions = {}
    for group in answer.session_groups:
        for session in group.sessions:
            sessions[session.name] = {
                "status": api_pb2.Status.Name(session.status),
                "seconds": session.end_time_secs - session.start_time_secs,
                "settings": {
                    name: getattr(value, value.WhichOneof("kind")) for name, value in group.hparams.items()
                },
                "metrics": {value.name.tag: value.value for value in session.metric_values},
            }
    print(json.dumps({"settings": settings, "differ": differ, "sessions": sessions}))


main(sys.argv[1])
