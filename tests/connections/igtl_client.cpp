// Reads messages with OpenIGTLink's own library, as 3D Slicer does, and prints a line of JSON for each.
// igtl_client PORT COUNT; built with: g++ igtl_client.cpp -I/usr/include/openigtlink -lOpenIGTLink -lpthread
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "igtlClientSocket.h"
#include "igtlImageMessage.h"
#include "igtlMessageHeader.h"
#include "igtlPolyDataMessage.h"
#include "igtlStringMessage.h"

static void print_image(igtl::ImageMessage* image) {
    int size[3];
    float spacing[3], centre[3];
    image->GetDimensions(size);
    image->GetSpacing(spacing);
    image->GetOrigin(centre);
    printf("\"size\": [%d, %d, %d], \"scalar\": %d, \"components\": %d, \"bytes\": %d, ", size[0], size[1], size[2],
           image->GetScalarType(), image->GetNumComponents(), image->GetImageSize());
    printf("\"spacing\": [%.9g, %.9g, %.9g], \"centre\": [%.9g, %.9g, %.9g]", spacing[0], spacing[1], spacing[2],
           centre[0], centre[1], centre[2]);
    if (image->GetScalarType() == igtl::ImageMessage::TYPE_FLOAT32) {
        const float* values = static_cast<const float*>(image->GetScalarPointer());
        printf(", \"middle\": %.9g", values[size[1] / 2 * size[0] + size[0] / 2]);
    }
}

static void print_points(igtl::PolyDataMessage* data) {
    igtl::PolyDataPointArray::Pointer points = data->GetPoints();
    igtlFloat32 first[3] = {0, 0, 0};
    if (points->GetNumberOfPoints()) points->GetPoint(0, first);
    printf("\"points\": %d, \"first\": [%.9g, %.9g, %.9g], \"vertices\": %d, \"attributes\": {", points->GetNumberOfPoints(),
           first[0], first[1], first[2], data->GetVertices()->GetNumberOfCells());
    for (int number = 0; number < data->GetNumberOfAttributes(); number++) {
        igtl::PolyDataAttribute::Pointer attribute = data->GetAttribute(number);
        std::vector<igtlFloat32> values(attribute->GetNumberOfComponents() * attribute->GetSize());
        attribute->GetData(&values[0]);
        printf("%s\"%s\": [%d, %d, %.9g]", number ? ", " : "", attribute->GetName(), attribute->GetType(),
               attribute->GetNumberOfComponents(), values[0]);
    }
    printf("}");
}

int main(int, char** arguments) {
    igtl::ClientSocket::Pointer socket = igtl::ClientSocket::New();
    if (socket->ConnectToServer("127.0.0.1", atoi(arguments[1])) != 0) return 1;
    for (int left = atoi(arguments[2]); left > 0; left--) {
        igtl::MessageHeader::Pointer header = igtl::MessageHeader::New();
        header->InitPack();
        if (socket->Receive(header->GetPackPointer(), header->GetPackSize()) != header->GetPackSize()) return 2;
        header->Unpack();
        igtl::MessageBase::Pointer message;
        const std::string kind = header->GetDeviceType();
        if (kind == "IMAGE") message = igtl::ImageMessage::New();
        else if (kind == "POLYDATA") message = igtl::PolyDataMessage::New();
        else if (kind == "STRING") message = igtl::StringMessage::New();
        else return 3;
        message->SetMessageHeader(header);
        message->AllocatePack();
        if (socket->Receive(message->GetPackBodyPointer(), message->GetPackBodySize()) != message->GetPackBodySize())
            return 2;
        if (!(message->Unpack(1) & igtl::MessageHeader::UNPACK_BODY)) return 4;  // 1: with the check sum
        printf("{\"device\": \"%s\", ", header->GetDeviceName());
        if (kind == "IMAGE") print_image(static_cast<igtl::ImageMessage*>(message.GetPointer()));
        else if (kind == "POLYDATA") print_points(static_cast<igtl::PolyDataMessage*>(message.GetPointer()));
        else printf("\"text\": \"%s\"", static_cast<igtl::StringMessage*>(message.GetPointer())->GetString());
        printf("}\n");
        fflush(stdout);
    }
    socket->CloseSocket();
    return 0;
}
